"""Runs on a real store: steps, activities, timers, signals, children, and how a run ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from queueops import activity, wf, workflow
from queueops.errors import ResultTimeout, TaskCancelled, TaskFailed
from queueops.errors.workflows import InstanceGone, InstanceInUse, RunEnded
from queueops.kinds.workflows.steps import kept_runs
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.states import State
from queueops.redis.broker import get_role
from queueops.testing import run_worker
from tests.support.waiting import wait_until

Worker = Callable[..., int]


@activity(name="wf.add", retries=0)
def add(one: int, two: int) -> int:
    """An activity."""
    return one + two


@activity(name="wf.aadd", retries=0)
async def add_slowly(one: int, two: int) -> int:
    """An async activity."""
    await asyncio.sleep(0)
    return one + two


@workflow(name="runs.relay")
async def relay(rounds: int) -> str:
    """Calls an activity in each of its runs."""
    await wf.call(add, rounds, 1)
    if rounds:
        wf.continue_as_new(rounds - 1)
    return "ended"


@workflow(name="wf.sums")
async def sums(count: int) -> int:
    """Activities at once, and one after them."""
    found = await asyncio.gather(*(wf.call(add, number, 1) for number in range(count)))
    wf.set_status({"found": len(found)})
    return await wf.call(add_slowly, sum(found), 1)


@workflow(name="wf.approval")
async def approval(seconds: float) -> str:
    """Waits for a signal, but not for ever."""
    try:
        async with asyncio.timeout(seconds):
            return str(await wf.signal("approve"))
    except TimeoutError:
        return "no signal"


@workflow(name="wf.raises")
async def raises() -> None:
    """Fails."""
    raise ValueError("no such order")


@workflow(name="wf.parent")
async def parent(name: str) -> str:
    """Runs a child."""
    return "child: " + await wf.child(approval.using(id=name), 60.0)


@workflow(name="wf.cleaner")
async def cleaner() -> str:
    """Answers a cancel."""
    try:
        await wf.sleep(60)
    except asyncio.CancelledError:
        return f"cleaned {await wf.call(add, 1, 2)}"
    return "slept"


@workflow(name="wf.counter")
async def counter(total: int) -> int:
    """Continues as new after each signal."""
    total += await wf.signal("add")
    if total < 6:
        wf.continue_as_new(total)
    return total


@pytest.fixture(autouse=True, params=["kept", "replayed"])
def _memory(request: pytest.FixtureRequest, namespace: str) -> Iterator[None]:
    """Each test runs with runs in memory, and with a replay before each step."""
    kept_runs.clear()
    kept_runs.most = None if request.param == "kept" else 0
    yield
    kept_runs.most = None
    kept_runs.clear()


@pytest.fixture
def worker() -> Worker:
    """A worker in the thread of the test, until nothing is ready."""
    return partial(run_worker, until_idle=True)


def store() -> WorkflowCalls:
    """The store of workflows."""
    return get_role(WorkflowCalls)


def test_activities_run_at_once_and_one_after_the_other(worker: Worker) -> None:
    run = sums.start(10)
    worker()
    assert run.result(timeout=0) == 56
    assert run.custom_status() == {"found": 10}
    story = [entry.kind for entry in run.history()]
    assert (story.count("call"), story.count("done"), story[-1]) == (11, 11, "end")


def test_the_record_of_an_activity_has_the_run_and_its_kind(worker: Worker) -> None:
    run = sums.start(1)
    worker()
    found = store().record("default", f"{run.id}.1")
    assert found is not None
    assert (found.kind, found.root, found.state) == ("activity", run.id, State.SUCCEEDED)


def test_a_signal_reaches_the_code(worker: Worker) -> None:
    run = approval.using(id="order/7:a").start(60)
    worker()
    assert run.state == State.IDLE
    approval.handle("order/7:a").signal("approve", "Ada")
    worker()
    assert run.result(timeout=0) == "Ada"
    with pytest.raises(RunEnded, match="succeeded"):
        run.signal("approve", "late")


def test_a_signal_before_the_first_step_is_kept(worker: Worker) -> None:
    run = approval.start(60)
    run.signal("approve", "early")
    worker()
    assert run.result(timeout=0) == "early"


def test_a_timer_fires_from_the_agenda(worker: Worker) -> None:
    run = approval.start(0.05)
    worker()
    wait_until(lambda: worker() >= 0 and run.state == State.SUCCEEDED, 30)
    assert run.result(timeout=0) == "no signal"


def test_what_the_code_raises_fails_the_run(worker: Worker) -> None:
    run = raises.start()
    worker()
    with pytest.raises(TaskFailed, match="no such order") as caught:
        run.result(timeout=0)
    assert caught.value.type == "ValueError"


def test_an_instance_has_one_run_at_a_time_and_its_id_can_be_used_again(worker: Worker) -> None:
    first = approval.using(id="one").start(60)
    with pytest.raises(InstanceInUse, match=first.id):
        approval.using(id="one").start(60)
    assert approval.using(id="one", on_conflict="ignore").start(60).id == first.id
    first.signal("approve", 1)
    worker()
    second = approval.using(id="one").start(60)
    assert second.id != first.id
    assert first.result(timeout=0) == "1"
    assert approval.handle("one").id == second.id
    with pytest.raises(InstanceGone):
        approval.handle("another")


def test_a_child_reports_to_its_parent(worker: Worker) -> None:
    run = parent.start("small")
    worker()
    approval.handle("small").signal("approve", "yes")
    worker()
    assert run.result(timeout=0) == "child: yes"


def test_the_id_of_a_child_that_is_in_use_fails_the_call(worker: Worker) -> None:
    approval.using(id="small").start(60)
    run = parent.start("small")
    worker()
    with pytest.raises(TaskFailed, match="has a run that has not ended"):
        run.result(timeout=0)


def test_code_answers_a_cancel(worker: Worker) -> None:
    run = cleaner.start()
    worker()
    assert run.cancel("enough")
    worker()
    assert run.result(timeout=0) == "cleaned 3"
    assert not run.cancel()


def test_terminate_ends_at_once_with_all_that_was_open(worker: Worker) -> None:
    run = parent.start("inner")
    worker()
    assert run.terminate("wrong order")
    with pytest.raises(TaskCancelled, match="wrong order"):
        run.result(timeout=0)
    worker()
    with pytest.raises(TaskCancelled):
        approval.handle("inner").result(timeout=0)
    agenda = store().ask("default", lambda client: client.zrange(store().keys("default").agenda, 0, -1))
    assert [entry for entry in agenda if entry.startswith(b"~timer")] == []


def test_a_suspended_run_makes_no_step_until_it_is_resumed(worker: Worker) -> None:
    run = approval.start(60)
    worker()
    assert run.suspend()
    run.signal("approve", "Ada")
    worker()
    with pytest.raises(ResultTimeout):
        run.result(timeout=0)
    assert run.resume()
    worker()
    assert run.result(timeout=0) == "Ada"


def test_a_run_continues_as_new_with_its_signals(worker: Worker) -> None:
    run = counter.using(id="count").start(0)
    for number in (1, 2, 3):
        run.signal("add", number)
    worker()
    assert run.result(timeout=0) == 6
    assert counter.handle("count").id != run.id
    assert len(run.history()) < 8


def test_a_cancel_that_comes_when_the_code_continues_as_new_cancels_the_next_run() -> None:
    run = relay.start(3)
    run_worker(until_idle=False)  # the first step
    run_worker(until_idle=False)  # its activity: its end is in the inbox
    assert run.cancel("wrong order")
    run_worker(until_idle=False)  # the code takes the end, and continues as new before it gets the cancel
    run_worker()
    with pytest.raises(TaskCancelled):
        run.result(timeout=0)


def test_a_workflow_can_be_pushed_and_be_part_of_a_chain(worker: Worker) -> None:
    whole = (sums.si(2) | add.s(1)).push()
    worker()
    assert whole.result(timeout=0) == 5
