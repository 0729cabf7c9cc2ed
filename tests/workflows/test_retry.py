"""Retry of the failed step on a real store: what the step had given up comes back, and what had failed runs again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from queueops import activity, wf, workflow
from queueops.errors import TaskFailed
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.contracts import Outcome, RoundTrip, Settlement
from queueops.model.states import State
from queueops.redis.broker import get_broker, get_role
from queueops.testing import run_worker
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("memory")
behaviour: dict[str, Any] = {}
FAR = 3600


@activity(name="retry.breaks", retries=0)
def breaks() -> str:
    """Fails as the test says."""
    if "breaks" in behaviour:
        raise behaviour["breaks"]
    return "mended"


@activity(name="retry.slow", retries=0)
def slow() -> str:
    """Runs when the test lets it."""
    return "slow"


@workflow(name="retry.group")
async def group() -> list[str]:
    """One of two activities in a task group fails, and the group gives the other one up."""
    async with asyncio.TaskGroup() as tasks:
        one = tasks.create_task(wf.call(breaks))
        two = tasks.create_task(wf.call(slow.using(delay=FAR)))
    return [one.result(), two.result()]


@workflow(name="retry.small")
async def small() -> str:
    """A child that fails with its activity."""
    return "small " + await wf.call(breaks)


@workflow(name="retry.waits")
async def waits() -> str:
    """A child that waits for a signal, and lets a cancel end it."""
    return str(await wf.signal("go"))


@workflow(name="retry.cleans")
async def cleans() -> str:
    """A child that answers a cancel with a result."""
    try:
        return str(await wf.signal("go"))
    except asyncio.CancelledError:
        return "cleaned"


@workflow(name="retry.outer")
async def outer() -> str:
    """Fails with its child."""
    return "outer " + await wf.child(small)


@workflow(name="retry.beside")
async def beside(which: str) -> list[str]:
    """One activity fails beside a child and a timer, which are given up."""
    child = waits if which == "waits" else cleans
    async with asyncio.TaskGroup() as tasks:
        one = tasks.create_task(wf.call(breaks))
        two = tasks.create_task(wf.child(child))
        tasks.create_task(wf.sleep(0.05))
    return [one.result(), two.result()]


@workflow(name="retry.gives_up")
async def gives_up() -> None:
    """Gives an activity and a child up after a signal, then waits."""
    one = asyncio.ensure_future(wf.call(slow.using(delay=FAR)))
    two = asyncio.ensure_future(wf.child(waits))
    await wf.signal("stop")
    one.cancel()
    two.cancel()
    await wf.signal("never")


@pytest.fixture(autouse=True)
def _failing(namespace: str) -> Iterator[None]:
    behaviour["breaks"] = ValueError("no stock")
    yield
    behaviour.clear()


def failed(run: WorkflowHandle[Any]) -> None:
    """Let a run fail."""
    run_worker()
    with pytest.raises(TaskFailed, match=r"no stock|sub-exception"):
        run.result(timeout=0)
    behaviour.clear()


def wait_for_end(run: WorkflowHandle[Any]) -> None:
    """Work until a run has ended, for which a timer may have to fire."""
    wait_until(lambda: run_worker() >= 0 and run.state in (State.SUCCEEDED, State.FAILED), 30)


def faults() -> list[Any]:
    """What the consistency check finds."""
    return list(get_broker().check("default", "").faults)


def calls_of(run: WorkflowHandle[Any]) -> dict[str, str]:
    """The open commands of a run."""
    row = get_role(WorkflowCalls).run_row("default", run.id)
    assert row is not None
    return row.calls


def test_an_activity_that_the_failed_step_gave_up_runs_again() -> None:
    run = group.start()
    failed(run)
    assert run.retry()
    assert calls_of(run) == {"1": f"a{run.id}.1", "2": f"a{run.id}.2"}
    assert (run.state, faults()) == (State.IDLE, [])
    run_worker()
    assert run.result(timeout=0) == ["mended", "slow"]
    assert faults() == []


def test_an_activity_that_was_deleted_since_fails_and_the_run_does_not_wait_for_it() -> None:
    run = group.start()
    failed(run)
    assert get_broker().control("default", "delete", [f"{run.id}.2"])[0].word == "OK"
    assert run.retry()
    run_worker()
    assert run.state == State.FAILED
    assert "it is gone" in [entry.reason for entry in run.history()]
    assert faults() == []


def test_an_activity_that_still_runs_is_taken_from_its_worker_and_runs_again() -> None:
    run = group.start()
    run_worker(until_idle=False)
    broker = get_broker()
    assert broker.control("default", "run_now", [f"{run.id}.2"])[0].word == "OK"
    leases = {lease.name: lease for lease in broker.exchange("default", "w1", RoundTrip(want=2)).leases}
    known = b'{"type":"ValueError","message":"no stock"}'
    error = Settlement(leases["retry.breaks"].id, leases["retry.breaks"].fence, Outcome.ERROR, known, delay_ms=-1)
    broker.exchange("default", "w1", RoundTrip(settle=[error]))
    failed(run)
    assert run.retry()
    lease = leases["retry.slow"]
    late = Settlement(lease.id, lease.fence, Outcome.CANCEL, b"it was told to stop")
    assert broker.exchange("default", "w1", RoundTrip(settle=[late])).settled == ["STALE"]
    run_worker()
    assert run.result(timeout=0) == ["mended", "slow"]


def test_a_failed_child_goes_on_from_its_failed_step() -> None:
    run = outer.start()
    failed(run)
    assert run.retry()
    run_worker()
    assert run.result(timeout=0) == "outer small mended"
    assert faults() == []


def test_a_failed_child_that_was_retried_alone_gives_its_result() -> None:
    run = outer.start()
    failed(run)
    child: WorkflowHandle[str] = WorkflowHandle(f"{run.id}.1")
    assert child.retry()
    run_worker()
    assert child.result(timeout=0) == "small mended"
    assert run.retry()
    run_worker()
    assert run.result(timeout=0) == "outer small mended"


def test_a_failed_child_that_was_reset_gives_the_result_of_its_new_run() -> None:
    run = outer.start()
    failed(run)
    WorkflowHandle(f"{run.id}.1").reset(1)
    run_worker()
    assert run.retry()
    run_worker()
    assert run.result(timeout=0) == "outer small mended"


def test_a_child_that_has_not_read_its_cancel_goes_on_and_its_timer_fires() -> None:
    run = beside.start("waits")
    run_worker(until_idle=False)
    child: WorkflowHandle[str] = WorkflowHandle(f"{run.id}.2")
    child.suspend()
    failed(run)
    assert run.retry()
    child.resume()
    child.signal("go", "gone")
    run_worker()
    run_worker()
    wait_for_end(run)
    assert run.result(timeout=0) == ["mended", "gone"]
    assert faults() == []


def test_a_child_that_a_cancel_ended_begins_again() -> None:
    run = beside.start("waits")
    failed(run)
    child: WorkflowHandle[str] = WorkflowHandle(f"{run.id}.2")
    assert child.state == State.CANCELLED
    made = child.history()
    assert run.retry()
    assert 0 < len(child.history()) < len(made)  # without the step that the cancel came in
    assert child.history() == made[: len(child.history())]
    run_worker()
    assert child.state == State.IDLE
    child.signal("go", "gone")
    wait_for_end(run)
    assert run.result(timeout=0) == ["mended", "gone"]
    assert faults() == []


def test_a_child_that_its_run_did_not_cancel_begins_from_its_start() -> None:
    run = beside.start("waits")
    run_worker(until_idle=False)
    child: WorkflowHandle[str] = WorkflowHandle(f"{run.id}.2")
    assert child.cancel("enough")
    failed(run)
    assert child.state == State.CANCELLED
    assert run.retry()
    assert child.history() == []
    child.signal("go", "gone")
    wait_for_end(run)
    assert run.result(timeout=0) == ["mended", "gone"]


def test_a_child_that_answered_its_cancel_with_a_result_gives_it() -> None:
    run = beside.start("cleans")
    failed(run)
    assert run.retry()
    wait_for_end(run)
    assert run.result(timeout=0) == ["mended", "cleaned"]


def test_an_activity_of_the_run_before_a_reset_is_found_by_its_own_id() -> None:
    run = group.start()
    failed(run)
    behaviour["breaks"] = ValueError("no stock")
    again = run.reset([entry.kind for entry in run.history()].index("failed") + 1)
    failed(again)
    assert again.retry()
    assert calls_of(again) == {"1": f"a{run.id}.1"}
    run_worker()
    assert again.result(timeout=0) == ["mended", "slow"]
    assert faults() == []


def test_a_command_that_was_given_up_behind_a_reset_comes_back() -> None:
    run = group.start()
    failed(run)
    again = run.reset([entry.kind for entry in run.history()].index("failed") + 1)
    assert calls_of(again) == {"2": f"a{run.id}.2"}
    assert get_broker().record("default", f"{run.id}.2").state == State.PENDING  # type: ignore[union-attr]
    run_worker()
    with pytest.raises(TaskFailed):
        again.result(timeout=0)


def test_a_waiting_run_can_be_reset_to_before_it_gave_a_command_up() -> None:
    run = gives_up.start()
    run_worker()
    run.signal("stop")
    run_worker()
    again = run.reset([entry.kind for entry in run.history()].index("signal") + 1)
    assert calls_of(again) == {"1": f"a{run.id}.1", "2": f"c{run.id}.2"}
    run_worker()
    assert again.state == State.IDLE
    assert faults() == []
