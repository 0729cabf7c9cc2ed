"""Activities, children and signals of other pools: messages carry them, each once in effect."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from queueops import activity, control, inspect, wf, workflow
from queueops.errors import TaskFailed
from queueops.errors.workflows import ResetRefused
from queueops.kinds.workflows.steps import kept_runs
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.contracts import Command
from queueops.model.states import State
from queueops.redis.broker import get_broker, get_role
from queueops.redis.broker.pool_messages import OutboxCalls
from queueops.testing import run_worker
from queueops.testing import worker as testing_worker

pytestmark = pytest.mark.usefixtures("memory")

FAR = "far"
LARGE = 50_000
broken: list[bool] = []
place = [FAR]
"""The pool of an activity. A deploy changes it."""


@activity(name="far.add", retries=0, pool=FAR)
def add(one: int, two: int) -> int:
    """An activity of another pool."""
    return one + two


@activity(name="far.fails", retries=0, pool=FAR)
def fails() -> str:
    """Fails as long as it is broken."""
    if broken:
        raise ValueError("no such order")
    return "mended"


@activity(name="far.large", retries=0, pool=FAR)
def large() -> str:
    """A large result."""
    return "x" * LARGE


@activity(name="far.near", retries=0)
def near() -> str:
    """An activity of the default pool."""
    return "near"


@workflow(name="far.child", pool=FAR)
async def child(rounds: int) -> str:
    """Continues as new, and calls a task of the pool of its parent."""
    if rounds:
        wf.continue_as_new(rounds - 1)
    return f"{await wf.signal('go')} {await wf.call(near)}"


@workflow(name="far.calls")
async def calls(count: int) -> int:
    """Calls activities of another pool at once."""
    return sum(await asyncio.gather(*(wf.call(add, number, 1) for number in range(count))))


@workflow(name="far.meanwhile")
async def meanwhile() -> int:
    """Waits for signals while an activity of another pool is open."""
    sum_of = asyncio.ensure_future(wf.call(add, 1, 1))
    await wf.signal("go")
    await wf.signal("on")
    return await sum_of


@workflow(name="far.size")
async def size() -> int:
    """A large result from another pool."""
    return len(await wf.call(large))


@workflow(name="far.error")
async def error() -> str:
    """Fails by an activity of another pool."""
    return await wf.call(fails)


@workflow(name="far.parent")
async def parent(instance: str, rounds: int = 0) -> str:
    """Runs a child in another pool."""
    return await wf.child(child.using(id=instance), rounds)


@workflow(name="far.moves")
async def moves() -> int:
    """Calls an activity in the pool that the deployed code names."""
    return await wf.call(add.using(pool=place[0]), 1, 2)


@workflow(name="far.cleaner")
async def cleaner(how: str) -> str:
    """Gives up what it has called."""
    waiting = wf.call(add, 1, 1) if how == "activity" else wf.child(child.using(id="given-up"), 1)
    task = asyncio.ensure_future(waiting)
    await wf.signal("enough")
    task.cancel()
    return str((await asyncio.gather(task, return_exceptions=True))[0].__class__.__name__)


@workflow(name="far.teller")
async def teller(instance: str, value: str = "ahoy") -> bool:
    """Sends a signal to another pool."""
    return await wf.send_signal(instance, "go", value, pool=FAR)


def one(pool: str = "default") -> int:
    """One start in a pool."""
    return run_worker(until_idle=False, pools=[pool])


def work() -> int:
    """A worker of both pools, until nothing is ready."""
    return run_worker(pools=["default", FAR])


def far_state(id: str) -> str | None:
    """The state of a task of the other pool."""
    record = get_broker().record(FAR, id)
    return str(record.state) if record else None


def waiting_commands(pool: str) -> int:
    """Messages of a pool that are not delivered."""
    client, keys = get_broker().client, get_broker().keys(pool)
    return int(client.zcard(keys.commands) + client.zcard(keys.commands_locked))


def test_the_result_of_an_activity_comes_from_another_pool() -> None:
    run = calls.start(20)
    work()
    assert run.result(timeout=0) == sum(range(20)) + 20
    assert far_state(f"{run.id}.1") == State.SUCCEEDED
    assert [entry.pool for entry in run.history() if entry.kind == "call"] == [FAR] * 20
    assert (waiting_commands("default"), waiting_commands(FAR)) == (0, 0)


def test_a_large_result_from_another_pool_is_kept_apart() -> None:
    run = size.start()
    work()
    assert run.result(timeout=0) == LARGE
    key = f"{get_broker().keys('default').task(run.id)}#payloads"
    assert get_broker().client.hlen(key) == 1


def test_an_open_call_of_another_pool_is_shown_with_its_pool() -> None:
    run = calls.start(1)
    run_worker(pools=["default"])
    view = inspect.workflow_run(run.id)
    assert view is not None
    assert [(call.pool, call.name, call.state) for call in view.calls] == [(FAR, "far.add", "pending")]


def test_a_reset_that_keeps_an_open_call_of_another_pool_is_refused() -> None:
    run = meanwhile.start()
    run_worker(pools=["default"])
    run.signal("go")
    run_worker(pools=["default"])
    with pytest.raises(ResetRefused, match="other pools"):
        run.reset(len(run.history()))
    assert run.state == State.IDLE


def test_a_reset_before_a_call_of_another_pool_makes_the_call_again() -> None:
    run = meanwhile.start()
    run_worker(pools=["default"])
    run.reset(1)
    run.signal("go")
    run.signal("on")
    work()
    assert run.result(timeout=0) == 2
    assert far_state(f"{run.id}.1") == State.CANCELLED
    assert waiting_commands("default") == 0


@pytest.mark.usefixtures("repeated")
def test_messages_that_come_twice_have_one_effect() -> None:
    """Calls, their ends, a signal and a cancel."""
    run, listens = calls.start(3), child.using(id="listens").start(0)
    work()
    assert run.result(timeout=0) == 6
    told, stopped = teller.start("listens"), cleaner.start("child")
    work()
    stopped.signal("enough")
    work()
    assert (told.result(timeout=0), stopped.result(timeout=0)) == (True, "CancelledError")
    assert listens.result(timeout=0) == "ahoy near"
    kinds = [entry.kind for each in (run, listens, told, stopped) for entry in each.history()]
    assert (kinds.count("done"), kinds.count("signal")) == (3 + 1 + 1, 2)
    row = get_broker().record(FAR, f"{run.id}.1")
    assert row is not None
    assert row.state == State.SUCCEEDED


@pytest.fixture
def repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that dies before it reports lets another process deliver its messages once more."""
    deliver = testing_worker.InlineWorker._deliver

    def twice(self: testing_worker.InlineWorker, commands: Iterable[Command]) -> None:
        commands = list(commands)
        for each in commands:
            get_role(OutboxCalls).post(each.to, apply=[each])
        deliver(self, commands)
        for each in commands:
            get_role(OutboxCalls).post(each.to, apply=[each])

    monkeypatch.setattr(testing_worker.InlineWorker, "_deliver", twice)


def test_a_failed_activity_of_another_pool_runs_again_when_the_step_is_retried() -> None:
    broken.append(True)
    run = error.start()
    work()
    with pytest.raises(TaskFailed, match="no such order"):
        run.result(timeout=0)
    broken.clear()
    run.retry()
    work()
    assert run.result(timeout=0) == "mended"


def test_a_child_in_another_pool_continues_as_new_and_reports_to_its_parent() -> None:
    run = parent.start("child-1", 2)
    work()
    child.handle("child-1").signal("go", "went")
    work()
    assert run.result(timeout=0) == "went near"


def test_the_instance_of_a_child_that_is_in_use_in_its_pool_fails_the_call() -> None:
    child.using(id="used").start(0)
    run = parent.start("used")
    work()
    with pytest.raises(TaskFailed, match="its instance used has a run that has not ended"):
        run.result(timeout=0)


@pytest.mark.parametrize("begun", [False, True])
def test_an_activity_of_another_pool_that_is_given_up_is_cancelled(begun: bool) -> None:
    run = cleaner.start("activity")
    if begun:
        run_worker(pools=["default"])
        assert far_state(f"{run.id}.1") == State.PENDING
    run.signal("enough")
    run_worker(pools=["default"])
    assert run.result(timeout=0) == "CancelledError"
    work()
    assert far_state(f"{run.id}.1") in (State.CANCELLED, None)
    assert waiting_commands("default") == 0


def test_a_child_of_another_pool_that_is_given_up_gets_a_cancel_in_its_last_run() -> None:
    run = cleaner.start("child")
    work()
    run.signal("enough")
    work()
    assert run.result(timeout=0) == "CancelledError"

    row = get_role(WorkflowCalls).newest_run(FAR, "given-up")
    assert row is not None
    assert far_state(row) == State.CANCELLED


@pytest.mark.parametrize(("before", "after"), [(FAR, "default"), ("default", FAR)])
@pytest.mark.parametrize("ends", [True, False])
def test_an_open_call_stays_in_its_pool_when_a_deploy_moves_the_activity(before: str, after: str, ends: bool) -> None:
    place[0] = before
    run = moves.start()
    one()
    place[0] = after
    kept_runs.clear()
    if not ends:
        assert run.cancel()
    work()
    assert run.state == (State.SUCCEEDED if ends else State.CANCELLED)
    record = get_broker().record(before, f"{run.id}.1")
    assert record is not None
    assert record.state in (State.SUCCEEDED, run.state)  # one of the pool of its run is before the cancel in the lane
    assert get_broker().record(after, f"{run.id}.1") is None
    place[0] = FAR


def test_terminate_cancels_what_runs_in_other_pools() -> None:
    run = calls.start(3)
    run_worker(pools=["default"])
    assert run.terminate()
    work()
    assert {far_state(f"{run.id}.{number}") for number in (1, 2, 3)} == {State.CANCELLED}


def test_a_stop_that_overtakes_its_call_waits_for_it() -> None:
    fields = (b"v", b"run_stopped", b"to", FAR.encode(), b"i", b"r.1", b"me", b"r", b"vn", b"1", b"vk", b"7", b"n")
    answers = [
        get_role(OutboxCalls).post(FAR, apply=[Command("1", "default", FAR, b"1", (*fields, b"%d" % tries))]).answers[0]
        for tries in (0, 9, 10)
    ]
    assert [word for word, _ in answers] == ["LATER", "LATER", "GONE"]


def test_a_signal_reaches_an_instance_of_another_pool_once() -> None:
    other = child.using(id="listens").start(0)
    work()
    run = teller.start("listens")
    work()
    assert run.result(timeout=0) is True
    assert other.result(timeout=0) == "ahoy near"
    assert [entry.kind for entry in other.history()].count("signal") == 1


def test_a_large_signal_reaches_another_pool() -> None:
    other = child.using(id="listens").start(0)
    work()
    teller.start("listens", "x" * LARGE)
    work()
    assert len(other.result(timeout=0)) == LARGE + 5


def test_a_signal_to_an_instance_that_another_pool_does_not_have_is_told() -> None:
    run = teller.start("nobody")
    work()
    assert run.result(timeout=0) is False


def test_an_activity_that_is_cancelled_in_its_pool_fails_the_call() -> None:
    run = calls.start(1)
    run_worker(pools=["default"])
    control.cancel([f"{run.id}.1"], "not today", pool=FAR)
    work()
    with pytest.raises(TaskFailed, match="not today"):
        run.result(timeout=0)
