"""Bad input: what code and callers do wrong has a clear message, blocks or fails the run as said, and loses nothing."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from queueops import conf, control, wf, workflow
from queueops.errors import BadOption, NotEncodable, PayloadTooLarge, TaskFailed
from queueops.kinds.workflows.replay import history_limit
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.states import State
from queueops.redis.broker import get_broker, get_role
from queueops.testing import WorkflowEnvironment, run_worker
from tests.workflows.test_runs import add, approval

pytestmark = pytest.mark.usefixtures("memory")

LARGE = "x" * 2_000_000


@workflow(name="bad.argument")
async def bad_argument(how: str) -> str:
    """Gives a call, a child, a signal, a status, an effect and a next run what cannot be encoded."""
    wrong: Any = object()
    try:
        match how:
            case "call":
                await wf.call(add, wrong, 1)
            case "child":
                await wf.child(approval, wrong)
            case "signal":
                await wf.send_signal("other", "name", wrong)
            case "status":
                wf.set_status(wrong)
            case "effect":
                wf.side_effect(lambda: wrong)
            case "large":
                await wf.call(add, LARGE, 1)  # type: ignore[arg-type]
            case "again":
                wf.continue_as_new(wrong)
    except (NotEncodable, PayloadTooLarge, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    return "?"


@workflow(name="bad.result")
async def bad_result() -> Any:
    """Returns what cannot be encoded."""
    return object()


@workflow(name="bad.large_result")
async def large_result() -> str:
    """Returns too much."""
    await wf.call(add, 1, 1)
    return LARGE


@workflow(name="bad.foreign")
async def foreign(how: str) -> None:
    """Awaits what belongs to another loop, or to no loop."""
    await wf.call(add, 1, 1)
    other = asyncio.new_event_loop()
    future = other.create_future()
    other.close()
    match how:
        case "loop":
            await future
        case "wait_for":
            await asyncio.wait_for(future, 60)
        case "gather":
            await asyncio.gather(asyncio.sleep(0), future)
        case _:
            await Foreign()


@workflow(name="bad.nests")
async def nests(how: str) -> None:
    """Runs an event loop within its own one."""
    await wf.call(add, 1, 1)
    other = asyncio.new_event_loop()
    unused = asyncio.sleep(0)
    try:
        match how:
            case "run":
                asyncio.run(unused)
            case "asgiref":
                async_to_sync(asyncio.sleep)(0)
            case _:
                other.run_until_complete(unused)
    finally:
        unused.close()
        other.close()


@workflow(name="bad.waits")
async def bad_wait(how: str) -> str:
    """Waits so long that there is no such time, or gives a child or a side effect what is none."""
    wrong: Any = add
    try:
        match how:
            case "child":
                await wf.child(wrong, 1, 1)
            case "effect":
                wf.side_effect(asyncio.sleep)
            case "value":
                wf.side_effect(wrong.name)
            case "timeout":
                async with asyncio.timeout(float("inf")):
                    await wf.signal("never")
            case _:
                await asyncio.sleep(float(how))
    except ValueError as error:  # BadOption is one, and asyncio of Python 3.13 refuses NaN itself
        return str(error)
    return "?"


@workflow(name="bad.sends")
async def bad_send(instance: Any, name: str, pool: str) -> str:
    """Sends a signal that cannot arrive."""
    try:
        await wf.send_signal(instance, name, 1, pool=pool)
    except ValueError as error:
        return str(error)
    return "?"


class Foreign:
    """Awaitable of another framework."""

    def __await__(self) -> Any:
        return (yield "not a future of asyncio")


@workflow(name="bad.grows")
async def grows() -> None:
    """Grows its history without an end."""
    while True:
        await wf.call(add, 1, 1)


@workflow(name="bad.hears")
async def hears(count: int) -> list[int]:
    """Waits for signals, and for nothing else."""
    return [await wf.signal("number") for _ in range(count)]


@workflow(name="bad.wide")
async def wide(count: int) -> int:
    """Gives many commands in one step."""
    return sum(await asyncio.gather(*(wf.call(add, 1, 0) for _ in range(count))))


def reason_of(run: Any) -> str:
    """Why a run is blocked."""
    row = get_role(WorkflowCalls).run_row("default", run.id)
    assert row is not None
    assert (row.fields["s"], "vb" in row.fields) == (State.POSTPONED, True)
    return row.fields["y"]


@pytest.mark.parametrize("how", ["call", "child", "signal", "status", "effect", "large", "again"])
def test_what_cannot_be_encoded_is_an_exception_in_the_code(how: str) -> None:
    run = bad_argument.start(how)
    run_worker()
    told = run.result(timeout=0)
    assert told.startswith(("NotEncodable: ", "PayloadTooLarge: ", "BadArguments: ")), told
    assert [entry.kind for entry in run.history()] == ["step", "end"]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("call", "The arguments of wf.add cannot be stored: one is an object. Use "),
        ("signal", "The value of the signal 'name' cannot be stored: it is an object. Use "),
        ("status", "The status of bad.argument cannot be stored: it is an object. Use "),
        ("effect", "The value of a side effect of bad.argument cannot be stored: it is an object. Use "),
        ("large", "The arguments of wf.add came to 2000011 bytes"),
    ],
)
def test_an_error_says_which_value_cannot_be_stored(how: str, said: str) -> None:
    assert f": {said}" in WorkflowEnvironment().run(bad_argument, how)


def test_an_error_of_a_signal_has_its_name_for_each_sender() -> None:
    run, tested = approval.start(60), WorkflowEnvironment().start(approval, 60)
    for send in (run.signal, tested.signal, partial(control.signal_runs, [run.id])):
        with pytest.raises(NotEncodable, match="The value of the signal 'approve' cannot be stored: it is an object"):
            send("approve", object())
        with pytest.raises(PayloadTooLarge, match="The value of the signal 'approve' came to 2000002 bytes"):
            send("approve", LARGE)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("child", "a function below @workflow"),
        ("effect", "an activity does what must wait"),
        ("value", "a function that is not async"),
        ("timeout", "at most a hundred years"),
        ("inf", "at most a hundred years"),
        ("nan", "at most a hundred years" if sys.version_info < (3, 13) else "NaN"),
        ("1e18", "at most a hundred years"),
    ],
)
def test_a_wait_for_what_cannot_come_is_an_exception_in_the_code(how: str, said: str) -> None:
    run = bad_wait.start(how)
    run_worker()
    assert said in run.result(timeout=0)
    assert [entry.kind for entry in run.history()] == ["step", "end"]


@pytest.mark.parametrize(
    ("instance", "name", "pool", "said"),
    [
        (5, "go", "", "not a valid id of an instance"),
        (None, "go", "", "not a valid id of an instance"),
        ("", "go", "", "not a valid id of an instance"),
        ("a b", "go", "", "not a valid id of an instance"),
        ("x" * 201, "go", "", "not a valid id of an instance"),
        ("a", "", "", "a text of 1 to 100 characters"),
        ("a", "go", "x" * 101, "not a valid name of a pool"),
    ],
)
def test_a_signal_that_cannot_arrive_is_an_exception_in_the_code(
    instance: Any, name: str, pool: str, said: str
) -> None:
    run = bad_send.start(instance, name, pool)
    run_worker()
    assert said in run.result(timeout=0)
    assert [entry.kind for entry in run.history()] == ["step", "end"]


@pytest.mark.parametrize("wrong", ["", 7, "x" * 101, "a\udcff"])
def test_a_signal_that_no_code_could_read_is_refused_to_its_sender(wrong: Any) -> None:
    run = approval.start(60)
    run_worker()
    with pytest.raises(BadOption, match=r"a text of 1 to 100 characters|valid Unicode"):
        run.signal(wrong, "Ada")
    run.signal("approve", "Ada")
    run_worker()
    assert run.result(timeout=0) == "Ada"


@pytest.mark.parametrize("wrong", [True, "1", None])
def test_a_reset_to_what_is_no_entry_is_refused(wrong: Any) -> None:
    run = approval.start(60)
    run_worker()
    tested = WorkflowEnvironment().start(approval, 60)
    for reset in (run.reset, tested.reset, partial(control.reset_run, run.id)):
        with pytest.raises(BadOption, match="a whole number"):
            reset(wrong)
    assert run.state == State.IDLE


@pytest.mark.parametrize("wrong", [bad_result, large_result])
def test_a_result_that_cannot_be_stored_fails_the_run(wrong: Any) -> None:
    run = wrong.start()
    run_worker()
    with pytest.raises(TaskFailed, match=r"NotEncodable|PayloadTooLarge"):
        run.result(timeout=0)


def test_a_signal_that_is_too_large_is_refused_to_its_sender() -> None:
    run = approval.start(60)
    run_worker()
    with pytest.raises(PayloadTooLarge, match=r"2000002 bytes|2,000,002"):
        run.signal("approve", LARGE)
    assert run.state == State.IDLE
    run.signal("approve", "x" * 900_000)
    run_worker()
    assert len(run.result(timeout=0)) == 900_000


@pytest.mark.parametrize("how", ["loop", "wait_for", "gather", "yield"])
def test_code_that_awaits_something_foreign_is_blocked_with_a_clear_message(how: str) -> None:
    run = foreign.start(how)
    run_worker()
    assert "What another event loop or another library waits for cannot be used" in reason_of(run)
    assert "Await what wf.* and asyncio's functions give." in reason_of(run)
    assert [entry.kind for entry in run.history()] == ["step", "call"]


@pytest.mark.parametrize("how", ["run", "asgiref", "other loop"])
def test_code_that_runs_another_event_loop_is_blocked_with_a_clear_message(how: str) -> None:
    run = nests.start(how)
    run_worker()
    assert reason_of(run).startswith("Another event loop cannot be used in the code of a workflow")
    assert reason_of(run).endswith("Await the coroutine itself.")
    assert [entry.kind for entry in run.history()] == ["step", "call"]


def test_a_history_that_grows_without_end_blocks_with_advice(settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"WORKFLOWS": {"MAX_HISTORY": 30}}
    run = grows.start()
    run_worker()
    assert "Use wf.continue_as_new()" in reason_of(run)
    logged = get_role(WorkflowCalls).ask(
        "default", lambda client: client.lrange(f"{get_broker().keys('default').task(run.id)}#log", 0, -1)
    )
    assert any(b"it is time for wf.continue_as_new()" in line for line in logged)
    length = len(run.history())
    get_broker().control("default", "run_now", [run.id])
    run_worker()
    assert len(run.history()) == length
    assert run.terminate()


def test_a_history_that_grows_by_signals_alone_blocks_and_keeps_the_rest(settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"WORKFLOWS": {"MAX_HISTORY": 3}}
    run = hears.start(5)
    for number in range(5):
        run_worker()
        run.signal("number", number)
    run_worker()
    assert "4 commands and signals; the limit is 3" in reason_of(run)
    assert len(run.history()) == 7  # the first step, and three with a signal each
    assert len(get_role(WorkflowCalls).inbox("default", run.id)) == 2
    settings.QUEUEOPS = settings.QUEUEOPS | {"WORKFLOWS": {"MAX_HISTORY": 5}}
    get_broker().control("default", "run_now", [run.id])
    run_worker()
    assert run.result(timeout=0) == [0, 1, 2, 3, 4]


def test_the_ends_of_activities_do_not_count_in_a_history(settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"WORKFLOWS": {"MAX_HISTORY": 20}}
    run = wide.start(20)
    run_worker()
    assert run.result(timeout=0) == 20
    assert len(run.history()) > 40


def test_a_step_with_more_commands_than_the_store_takes_writes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_limit, "MOST_COMMANDS", 30)
    run = wide.start(31)
    run_worker()
    assert "31 commands; the limit is 30. Await some before others begin." in reason_of(run)
    assert run.history() == []
    fits = wide.start(30)
    run_worker()
    assert fits.result(timeout=0) == 30


def test_a_step_with_more_commands_than_a_history_has_writes_none(settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"WORKFLOWS": {"MAX_HISTORY": 30}}
    run = wide.start(40)
    run_worker()
    assert "40 commands and signals; the limit is 30" in reason_of(run)
    assert run.history() == []
    assert get_broker().record("default", f"{run.id}.1") is None


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b'{"e":7}', b'{"e":"unknown"}', b'{"e":"signal","n":"approve","r":}']
)
def test_an_event_of_other_software_blocks_the_run_and_is_kept(text: bytes) -> None:
    run = approval.start(60)
    run_worker()
    store = get_role(WorkflowCalls)
    store.tell_run("default", "signal", text, run=run.id)
    run.signal("approve", "Ada")
    run_worker()
    assert reason_of(run)
    assert len(store.inbox("default", run.id)) == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"MAX_HISTORY": 0}, "must be a whole number from 1 to 1000000"),
        ({"MAX_HISTORY": True}, "must be a whole number"),
        ({"LONGEST_HISTORY": 9}, "There is no setting QUEUEOPS['WORKFLOWS']['LONGEST_HISTORY']"),
    ],
)
def test_a_setting_of_workflows_that_is_wrong_is_named(given: dict[str, Any], said: str) -> None:
    _, errors = conf.read_settings({"WORKFLOWS": given})
    assert [said in str(error) for error in errors] == [True]
