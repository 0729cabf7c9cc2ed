"""Commands of a run while it goes on: a signal to a child, a timer that is dropped, an activity that breaks."""

from __future__ import annotations

import asyncio

import pytest

import queueops
from queueops import Retry, activity, current, wf, workflow
from queueops.errors import BadOption
from queueops.errors.workflows import ActivityFailed
from queueops.model.states import State
from queueops.testing import WorkflowEnvironment, run_worker
from tests.workflows.test_end_to_end import agenda
from tests.workflows.test_runs import add, approval

pytestmark = pytest.mark.usefixtures("memory")

attempts: list[int] = []


@workflow(name="wf.tells_its_child")
async def tells_its_child() -> str:
    """Sends a signal to its child."""
    waiting = asyncio.ensure_future(wf.child(approval.using(id="told"), 60.0))
    await wf.call(add, 1, 1)  # the child begins with this step
    assert await wf.send_signal("told", "approve", "by its parent")
    return await waiting


def not_called(number: int) -> str:
    """Makes ids, but not those of activities."""
    raise AssertionError(f"the id of an activity does not depend on {number}")


@activity(name="wf.unique", unique=not_called)
def unique(number: int) -> str:
    """A task whose id comes from its arguments."""
    return current().id


@workflow(name="wf.calls_unique")
async def calls_unique() -> list[str]:
    """Calls a task with unique ids, twice with the same arguments; an id of its own is refused."""
    await wf.sleep(0.001)
    with pytest.raises(BadOption, match="the id of an activity is that of its run and the number of the call"):
        await wf.call(unique.using(id="another"), 1)
    return await asyncio.gather(wf.call(unique, 1), wf.call(unique.using(priority=1), 1))


@workflow(name="wf.sizes")
async def sizes() -> list[tuple[int, int]]:
    """The length and the size of its history at each step."""
    found = [(wf.info().length, wf.info().size)]
    await wf.call(add, 1, 1)
    found.append((wf.info().length, wf.info().size))
    await wf.signal("go")
    return [*found, (wf.info().length, wf.info().size)]


@workflow(name="wf.in_parts")
async def in_parts(left: int, parts: int) -> int:
    """Continues as new before its history is long."""
    while left:
        if wf.info().size >= 3:
            wf.continue_as_new(left, parts + 1)
        await wf.call(add, 1, 1)
        left -= 1
    return parts


@workflow(name="wf.drops_a_timer")
async def drops_a_timer() -> str:
    """Cancels a timer, and waits for a signal."""
    timer = asyncio.ensure_future(wf.sleep(60))
    await wf.call(add, 1, 1)
    timer.cancel()
    return str(await wf.signal("go"))


@activity(name="wf.breaks", retries=1, retry=Retry(delay=0))
def breaks(divisor: int) -> float:
    """Fails with an unexpected error."""
    attempts.append(current().attempt)
    return 1 / divisor


@activity(name="wf.copies", retries=1, retry=Retry(delay=0))
def copies(pages: int) -> list[int]:
    """Copies pages; the first attempt fails after two of them."""
    before = queueops.get(current().id).progress  # type: ignore[union-attr]
    first = int(before.done) if before else 0
    for page in range(first, pages):
        if (page, first) == (2, 0):
            raise ConnectionError("lost")
        current().progress(page + 1, pages)
    return [first, pages]


@workflow(name="wf.of_copies")
async def of_copies() -> list[int]:
    """Calls it."""
    return await wf.call(copies, 5)


@workflow(name="wf.broken_activity")
async def broken_activity() -> list[str]:
    """Catches the error, with its stack."""
    try:
        await wf.call(breaks, 0)
    except ActivityFailed as error:
        return [error.type, error.message, error.traceback]
    return []


def test_a_parent_sends_a_signal_to_its_child() -> None:
    run = tells_its_child.start()
    run_worker()
    assert run.result(timeout=0) == "by its parent"
    assert [entry.name for entry in approval.handle("told").history() if entry.kind == "signal"] == ["approve"]


def test_a_timer_that_is_dropped_leaves_the_agenda_while_its_run_goes_on() -> None:
    run = drops_a_timer.start()
    run_worker(until_idle=False)
    assert len(agenda()) == 1
    run_worker()
    assert (run.state, agenda()) == (State.IDLE, [])
    run.signal("go", "on")
    run_worker()
    assert run.result(timeout=0) == "on"


def test_an_unexpected_error_of_an_activity_is_retried_and_keeps_its_stack() -> None:
    attempts.clear()
    run = broken_activity.start()
    run_worker()
    kind, message, stack = run.result(timeout=0)
    assert (kind, message) == ("ZeroDivisionError", "division by zero")
    assert "return 1 / divisor" in stack
    assert attempts == [1, 2]


def test_the_next_attempt_of_an_activity_goes_on_from_its_progress() -> None:
    run = of_copies.start()
    run_worker()
    assert run.result(timeout=0) == [2, 5]


def test_an_activity_with_unique_ids_has_the_id_of_its_call() -> None:
    run = calls_unique.start()
    run_worker()
    assert run.result(timeout=0) == [f"{run.id}.2", f"{run.id}.3"]
    assert WorkflowEnvironment().run(calls_unique) == ["run-1#2.2", "run-1#2.3"]


def test_the_code_knows_the_size_of_its_history_in_each_replay() -> None:
    run = sizes.start()
    run_worker()
    run.signal("other")
    run.signal("go")
    run_worker()
    assert run.result(timeout=0) == [(0, 0), (2, 1), (4, 3)]
    env = WorkflowEnvironment()
    tested = env.start(sizes)
    env.at(1, lambda: tested.signal("other"))
    env.at(1, lambda: tested.signal("go"))
    assert tested.result() == [(0, 0), (2, 1), (4, 3)]


def test_the_code_continues_as_new_by_the_size_of_its_history() -> None:
    run = in_parts.start(10, 1)
    run_worker()
    assert run.result(timeout=0) == 4
    assert WorkflowEnvironment().run(in_parts, 10, 1) == 4
