"""Children and the end of their parent: a cancel, a termination, or nothing, in the store and in memory."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queueops import control, inspect, wf, workflow
from queueops.errors import BadOption, TaskCancelled
from queueops.kinds.workflows import steps
from queueops.testing import WorkflowEnvironment, run_worker
from tests.workflows.test_environment_again import Memory, Stored

FAR = "wf-other"


@workflow(name="ends.child")
async def child(rounds: int = 0) -> str:
    """Waits for a signal, and cleans up if it is cancelled; continues as new so often."""
    try:
        found = str(await wf.signal("go"))
    except asyncio.CancelledError:
        wf.set_status("cleaned up")
        raise
    if rounds:
        wf.continue_as_new(rounds - 1)
    return found


@workflow(name="ends.parent")
async def parent(end: str, policy: Any, pool: str = "default", rounds: int = 0) -> str:
    """Begins a child, and ends as the test says."""
    begins = child.using(id="the-child", on_parent_end=policy, pool=pool)
    if end == "group":
        async with asyncio.TaskGroup() as group:
            group.create_task(wf.child(begins, rounds))
            await wf.signal("end")
            wf.continue_as_new("wait", "cancel")
    if end in ("at once", "wait"):
        task = asyncio.ensure_future(wf.child(begins, rounds)) if end == "at once" else None
        await wf.signal("end") if end == "wait" else None
        return repr(task)[:0]
    task = asyncio.create_task(wf.child(begins, rounds))
    await wf.signal("end")
    match end:
        case "fail":
            raise ValueError("no stock")
        case "continue":
            wf.continue_as_new("wait", "cancel")
        case "drop":
            task.cancel()
            await wf.signal("end")
    return "fine"


class Far(Stored):
    """Runs of the store, with children in another pool."""

    def work(self) -> None:
        """Let everything run that can run now."""
        for _ in range(3):
            run_worker(pools=["default", FAR])

    def of(self, instance: str) -> Any:
        """The run of an instance."""
        return child.using(pool=FAR).handle(instance)


@pytest.fixture(params=[Memory, Stored, Far])
def where(request: pytest.FixtureRequest, namespace: str) -> Any:
    """Where the runs are."""
    made = request.param()
    if not isinstance(made, Memory):
        made.of = lambda instance: child.using(pool=FAR if isinstance(made, Far) else "default").handle(instance)
    return made


def begin(where: Any, end: str, policy: str, rounds: int = 0) -> Any:
    """A parent that has ended, with a child that may not."""
    run = where.start(parent.using(id="p"), end, policy, FAR if isinstance(where, Far) else "default", rounds)
    where.work()
    if end == "terminate":
        run.terminate()
    elif end == "cancel":
        run.cancel()
    elif end == "hard":
        run.cancel(hard=True)
    elif end != "at once":
        run.signal("end")
    where.work()
    return run


ENDS = ["return", "fail", "continue", "group", "drop", "terminate", "cancel", "hard", "at once"]


@pytest.mark.parametrize("end", ENDS)
def test_an_abandoned_child_goes_on_whatever_becomes_of_its_parent(where: Any, end: str) -> None:
    begin(where, end, "abandon")
    found = where.of("the-child")
    assert found.state in ("idle", "running")
    found.signal("go", "went")
    where.work()
    assert found.result(timeout=0) == "went"


@pytest.mark.parametrize("end", ["return", "fail", "continue", "group", "drop", "terminate"])
def test_a_child_is_cancelled_or_terminated_as_its_policy_says(where: Any, end: str) -> None:
    for policy, status in (("cancel", "cleaned up"), ("terminate", None)):
        run = begin(where, end, policy)
        found = where.of("the-child")
        assert (found.state, found.custom_status()) == ("cancelled", status)
        run.terminate()


def test_an_abandoned_child_may_continue_as_new_and_tells_its_parent_nothing(where: Any) -> None:
    run = begin(where, "continue", "abandon", rounds=2)
    for word in ("a", "b", "c"):
        where.of("the-child").signal("go", word)
        where.work()
    assert where.of("the-child").result(timeout=0) == "c"
    assert [entry.kind for entry in run.history()] == ["step"]
    if not isinstance(where, Memory):
        newest = inspect.workflow_run(parent.handle("p").id)
        assert newest is not None
        assert newest.late == 0


def test_the_next_run_of_the_parent_does_not_end_an_abandoned_child_by_its_name(where: Any) -> None:
    run = begin(where, "continue", "abandon")
    first = where.of("the-child").id
    run.signal("end")
    where.work()
    again = where.start(parent.using(id="p"), "return", "cancel", FAR if isinstance(where, Far) else "default")
    where.work()
    assert where.of("the-child").id == first
    assert where.of("the-child").state in ("idle", "running")
    assert "failed" in [entry.kind for entry in again.history()]


@workflow(name="ends.many")
async def many(count: int, waits: bool) -> None:
    """Begins children that go on alone, more than one slice."""
    for number in range(count):
        asyncio.ensure_future(wf.child(child.using(id=f"c{number}", on_parent_end="abandon")))  # noqa: RUF006
    if waits:
        await wf.sleep(0)


@pytest.mark.parametrize("waits", [False, True])
def test_no_abandoned_child_is_lost_behind_the_first_slice(
    namespace: str, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "AT_ONCE", 2)
    many.start(5, waits)
    run_worker()
    assert [child.handle(f"c{number}").state for number in range(5)] == ["idle"] * 5


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(BadOption, match='"cancel", "terminate" or "abandon"'):
        child.using(on_parent_end="kill")  # type: ignore[arg-type]
    assert WorkflowEnvironment().start(child.using(on_parent_end="abandon").using(id="x")).state == "running"


def logged(run: Any) -> list[str]:
    """What the log of a run says of a child that was not begun."""
    found = inspect.task(run.id, "default")
    assert found
    return [line.text for line in found.log if "was not begun" in line.text]


def other_child(where: Any) -> Any:
    """A run that has the instance of the child already."""
    run = where.start(child.using(id="the-child", pool=FAR if isinstance(where, Far) else "default"))
    where.work()
    return run


@pytest.mark.parametrize("where", [Stored, Far], indirect=True)
def test_an_abandoned_child_whose_instance_is_in_use_is_kept_with_the_reason(where: Any) -> None:
    pool = FAR if isinstance(where, Far) else "default"
    other = other_child(where)
    run = where.start(parent.using(id="p"), "at once", "abandon", pool)
    where.work()
    assert run.state == "succeeded"
    (row,) = inspect.tasks(inspect.TaskQuery(state="cancelled", pool=pool)).rows
    reason = f"its instance the-child has a run that has not ended: {other.id}"
    detail = inspect.task(row.id, pool)
    assert detail
    assert (row.name, detail.reason) == (child.name, reason)
    assert logged(run) == [f"its child {row.id} was not begun: {reason}"]
    assert where.of("the-child").id == other.id
    other.signal("go", "first")
    where.work()
    assert control.retry([row.id], pool)[0].word == "OK"
    where.work()
    where.of("the-child").signal("go", "second")
    where.work()
    assert inspect.task(row.id, pool).state == "succeeded"  # type: ignore[union-attr]


def test_an_abandoned_child_whose_instance_is_in_use_is_shown_by_the_environment() -> None:
    where = Memory()
    other = other_child(where)
    run = where.start(parent.using(id="p"), "at once", "abandon")
    where.work()
    assert run.state == "succeeded"
    (refused,) = where.env.not_begun
    assert (refused.state, where.of("the-child").id) == ("cancelled", other.id)
    with pytest.raises(TaskCancelled, match=f"its instance the-child has a run that has not ended: {other.id}"):
        refused.result()
    other.signal("go", "first")
    assert other.result() == "first"


def test_a_child_that_waited_behind_the_first_slice_is_kept_with_the_reason_too(
    namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "AT_ONCE", 2)
    other = child.using(id="c4").start()
    run = many.start(5, True)
    run_worker()
    assert (run.state, child.handle("c4").id) == ("succeeded", other.id)
    assert [child.handle(f"c{number}").state for number in range(5)] == ["idle"] * 5
    assert len(logged(run)) == 1
