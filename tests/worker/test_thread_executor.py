from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections

from queueops import conf
from queueops.errors import Interrupt, NotEncodable, PayloadTooLarge, SoftTimeout
from queueops.model.contracts import Lease, Outcome
from queueops.model.ports import Handler
from queueops.signals import task_failed, task_retried, task_succeeded
from queueops.tasks import registry
from queueops.tasks.context import Context
from queueops.worker.execution.slot import Slot
from queueops.worker.shared_slot_table import Condition
from tests.support.rig import Rig, answer
from tests.support.waiting import wait_until

variable: ContextVar[str] = ContextVar("variable", default="clean")


async def sleep_long(context: Context) -> None:
    await asyncio.sleep(60)


def spin(context: Context) -> None:
    while True:
        time.sleep(0.001)


def test_a_result_is_encoded(rig: Rig) -> None:
    assert rig.run(lambda context: {"n": 1}).value == b'{"n":1}'


def test_an_async_task_runs_on_the_loop(rig: Rig) -> None:
    assert rig.run(answer).value == b"42"


def test_an_unknown_name_is_said_to_be_unknown(rig: Rig) -> None:
    rig.submit("nobody-knows-me")
    (end,) = rig.ends()
    assert end.outcome is Outcome.UNKNOWN
    assert b"nobody-knows-me" in end.value


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), ImportError("gone")])
def test_code_that_ends_the_process_when_it_is_loaded_ends_its_task_alone(rig: Rig, error: BaseException) -> None:
    def load(name: str) -> Handler | None:
        raise error

    registry.register_resolver("breaks-when-loaded", load)
    try:
        rig.executor.submit([Lease(id="x", fence=1, name="broken.task", kind="breaks-when-loaded")])
    finally:
        registry.unregister_resolver("breaks-when-loaded")
    (end,) = rig.ends()
    assert end.outcome is Outcome.UNKNOWN
    assert f"the code of 'broken.task' cannot be loaded: {type(error).__name__}".encode() in end.value
    assert rig.run(lambda context: 1).value == b"1"


def test_threads_are_started_as_they_are_needed_and_no_more(make_rig: Callable[[int], Rig]) -> None:
    rig = make_rig(4)
    busy, most = [0], [0]
    lock = threading.Lock()

    def count(context: Context) -> None:
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        time.sleep(0.02)
        with lock:
            busy[0] -= 1

    rig.submit(rig.task(count), 40)
    rig.ends(40)
    assert most == [4]


@pytest.mark.parametrize("function", [spin, sleep_long])
def test_a_soft_timeout_ends_a_task_as_such(rig: Rig, function: Callable[[Context], Any]) -> None:
    (lease,) = rig.submit(rig.task(function), timeout_ms=50)
    wait_until(lambda: rig.executor.slot_of(lease))
    assert rig.executor.interrupt(lease, SoftTimeout)
    assert not rig.executor.interrupt(lease, SoftTimeout)
    (end,) = rig.ends()
    assert end.outcome is Outcome.TIMEOUT
    assert b"its timeout of 0.05 s" in end.value


def test_an_interrupt_never_meets_the_next_task(rig: Rig) -> None:
    """The race that slot.py closes: thousands of tiny tasks, and an interrupt for each that is seen to run."""
    leases = rig.submit(rig.task(lambda context: time.sleep(0.0001)), 3000)
    asked: set[str] = set()
    while len(rig.executor.done) < len(leases):
        for slot, lease in rig.executor.running():
            if lease.fence % 3 == 0 and slot.stop(lease, SoftTimeout):
                asked.add(lease.id)
    ends = rig.ends(len(leases))
    late = {end.id for end in ends if end.outcome is Outcome.TIMEOUT}
    assert late <= asked
    assert {end.outcome for end in ends if end.id not in late} == {Outcome.SUCCESS}
    assert len(asked) > 5


def test_what_was_not_started_can_be_taken_back_in_its_order(rig: Rig) -> None:
    release = threading.Event()
    leases = rig.submit(rig.task(lambda context: release.wait(60)), 10)
    wait_until(lambda: len(list(rig.executor.running())) == 2)
    assert [lease.id for lease in rig.executor.take_back()] == [lease.id for lease in leases[2:]]
    release.set()
    rig.ends(2)


@pytest.mark.parametrize("function", [lambda context: 1, answer])
def test_what_was_claimed_before_the_supervisor_took_over_is_given_back_and_not_started(
    rig: Rig, function: Callable[[Context], Any]
) -> None:
    name = rig.task(function)
    rig.table.condition = Condition.SILENT
    rig.submit(name)
    (end,) = rig.ends()
    assert end.outcome is Outcome.RELEASE
    rig.executor.epoch = rig.table.epoch
    rig.submit(name)
    assert rig.ends(2)[1].outcome is Outcome.SUCCESS


def test_context_variables_do_not_pass_from_task_to_task(make_rig: Callable[[int], Rig]) -> None:
    rig = make_rig(1)

    def look_and_set(context: Context) -> str:
        found = variable.get()
        variable.set("dirty")
        return found

    rig.submit(rig.task(look_and_set), 3)
    assert {end.value for end in rig.ends(3)} == {b'"clean"'}


@pytest.mark.django_db(transaction=True)
def test_database_connections_are_closed_after_each_task_as_after_a_request(make_rig: Callable[[int], Rig]) -> None:
    rig = make_rig(1)

    def query(context: Context) -> bool:
        was_open = connection.connection is not None
        connection.ensure_connection()
        return was_open

    rig.submit(rig.task(query), 3)
    assert {end.value for end in rig.ends(3)} == {b"false"}


def query(context: Context) -> None:
    connection.ensure_connection()
    opened.append(connections["default"])


async def query_later(context: Context) -> None:
    await sync_to_async(query)(context)


opened: list[Any] = []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("function", [query, query_later])
def test_database_connections_are_closed_while_the_slot_rests(rig: Rig, function: Callable[[Context], Any]) -> None:
    opened.clear()
    rig.run(function)
    (wrapper,) = opened  # of a thread that waits for its next task
    wait_until(lambda: wrapper.connection is None)


def test_a_failure_is_one_line_of_the_log_with_its_facts_for_machines(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(context: Context) -> None:
        raise ValueError("broken")

    name = rig.task(broken)
    rig.submit(name, attempt=2, retries=1)
    rig.ends(1)
    (line,) = [record for record in caplog.records if record.name == "queueops.worker"]
    told = line.told  # type: ignore[attr-defined]  # given as extra
    assert (told["name"], told["error"], told["attempt"], told["attempts"]) == (name, "ValueError: broken", 2, 2)
    assert told["task"] in line.getMessage()


def test_signals_are_sent_with_what_became_of_the_task(rig: Rig) -> None:
    told: list[str] = []

    def on_success(sender: Any, context: Context, result: Any, **_: Any) -> None:
        told.append(f"succeeded {result}")

    def on_retry(sender: Any, context: Context, error: BaseException, delay: float, **_: Any) -> None:
        told.append(f"retried {error}")

    def on_failure(sender: Any, context: Context, error: BaseException, **_: Any) -> None:
        told.append(f"failed {error}")

    def broken(context: Context) -> None:
        raise ValueError("broken")

    with_receivers = ((task_succeeded, on_success), (task_retried, on_retry), (task_failed, on_failure))
    for signal, receiver in with_receivers:
        signal.connect(receiver)
    try:
        rig.run(lambda context: 1)
        name = rig.task(broken)
        for attempt in (1, 2):
            rig.submit(name, attempt=attempt, retries=1)
            rig.ends(1 + attempt)
    finally:
        for signal, receiver in with_receivers:
            signal.disconnect(receiver)
    assert told == ["succeeded 1", "retried broken", "failed broken"]


def returns_an_object(context: Context) -> object:
    return object()


async def returns_an_object_later(context: Context) -> object:
    return object()


def returns_too_much(context: Context) -> str:
    return "x" * (conf.current().payload_limit + 1)


async def returns_too_much_later(context: Context) -> str:
    return "x" * (conf.current().payload_limit + 1)


@pytest.mark.parametrize("hears_of_successes", [False, True])
@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (returns_an_object, NotEncodable),
        (returns_an_object_later, NotEncodable),
        (returns_too_much, PayloadTooLarge),
        (returns_too_much_later, PayloadTooLarge),
    ],
)
def test_a_result_that_cannot_be_stored_fails_in_the_log_and_to_the_receivers_of_task_failed(
    rig: Rig,
    function: Callable[[Context], Any],
    kind: type[Exception],
    hears_of_successes: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    errors: list[BaseException | None] = []
    succeeded: list[Any] = []

    def on_failure(error: BaseException | None, **_: Any) -> None:
        errors.append(error)

    def on_success(result: Any, **_: Any) -> None:
        succeeded.append(result)

    task_failed.connect(on_failure)
    if hears_of_successes:
        task_succeeded.connect(on_success)
    try:
        end = rig.run(function, retries=3)
    finally:
        task_failed.disconnect(on_failure)
        task_succeeded.disconnect(on_success)
    assert (end.outcome, end.delay_ms) == (Outcome.ERROR, -1)
    assert ([type(error) for error in errors], succeeded) == ([kind], [])
    (line,) = [record for record in caplog.records if record.name == "queueops.worker"]
    assert f"failed: queueops.errors.{kind.__name__}" in line.getMessage()


@pytest.mark.parametrize("function", [returns_an_object, returns_an_object_later])
def test_an_interrupt_that_meets_the_end_of_a_task_whose_result_cannot_be_stored_leaves_the_thread_whole(
    make_rig: Callable[[int], Rig], monkeypatch: pytest.MonkeyPatch, function: Callable[[Context], Any]
) -> None:
    rig = make_rig(1)

    def interrupted(slot: Slot) -> None:
        raise SoftTimeout(seconds=1)

    with monkeypatch.context() as patch:
        patch.setattr(Slot, "close", interrupted)
        end = rig.run(function)
    assert (end.outcome, end.title.split(":")[0]) == (Outcome.ERROR, "queueops.errors.NotEncodable")
    rig.submit(rig.task(answer))
    assert rig.ends(2)[1].value == b"42"


@pytest.mark.parametrize("error", [SystemExit(2), KeyboardInterrupt(), GeneratorExit(), MemoryError()])
def test_whatever_a_task_raises_the_thread_goes_on(make_rig: Callable[[int], Rig], error: BaseException) -> None:
    rig = make_rig(1)

    def fail(context: Context) -> None:
        raise error

    assert rig.run(fail).outcome is Outcome.ERROR
    rig.submit(rig.task(lambda context: None))
    assert [end.outcome for end in rig.ends(2)] == [Outcome.ERROR, Outcome.SUCCESS]


def test_an_interrupt_is_not_swallowed_by_except_exception(rig: Rig) -> None:
    assert not issubclass(Interrupt, Exception)


def test_the_thread_of_a_task_makes_the_turn_of_a_loop_that_sleeps_and_runs_what_it_brings(rig: Rig) -> None:
    name = rig.task(lambda context: threading.get_ident())
    turns: list[int] = []

    def turn() -> None:
        assert rig.executor.awake.locked()
        turns.append(threading.get_ident())
        if len(turns) < 3:
            rig.submit(name)
            rig.executor.waiting = True

    rig.turn = turn
    rig.executor.waiting = True
    rig.submit(name)
    assert {int(end.value) for end in rig.ends(3)} == set(turns)
    wait_until(lambda: len(turns) == 3 and not rig.executor.awake.locked())
    assert len(set(turns)) == 1
    assert not rig.rings


def test_of_what_such_a_turn_brings_other_threads_run_all_but_the_first(rig: Rig) -> None:
    meeting = threading.Barrier(2)
    both = rig.task(lambda context: meeting.wait(60) >= 0)
    rig.turn = lambda: rig.submit(both, 2) and None
    rig.executor.waiting = True
    rig.submit(rig.task(lambda context: True))
    assert [end.value for end in rig.ends(3)] == [b"true"] * 3


def test_a_loop_that_is_awake_is_rung_for(rig: Rig) -> None:
    rig.turn = lambda: pytest.fail("two made a turn at the same time")
    rig.executor.waiting = True
    with rig.executor.awake:
        rig.run(lambda context: None)
        wait_until(lambda: rig.rings)
    assert not rig.executor.waiting


def test_a_thread_with_more_to_do_rings(make_rig: Callable[[int], Rig]) -> None:
    rig = make_rig(1)
    turns: list[int] = []
    rig.turn = lambda: turns.append(rig.executor.queued())
    rig.executor.low, rig.executor.waiting = 5, True
    begin = threading.Event()
    rig.submit(rig.task(lambda context: begin.wait(60)))
    rig.submit(rig.task(lambda context: None))
    begin.set()
    rig.ends(2)
    wait_until(lambda: rig.rings)
    assert not turns
