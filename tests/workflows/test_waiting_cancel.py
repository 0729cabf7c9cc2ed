"""Cancel that waits: the code asks an activity or a child to end, and gets its answer; in the store and in memory."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queueops import activity, wf, workflow
from queueops.errors import TaskFailed
from queueops.errors.workflows import ChildFailed
from queueops.kinds.workflows import steps
from queueops.testing import run_worker
from tests.workflows.test_environment_again import Memory, Stored

FAR = "wf-other"


@activity(name="waits.later", retries=0)
def later() -> str:
    """Runs in an hour."""
    return "ran"


@workflow(name="waits.child")
async def child(how: str) -> str:
    """Answers a cancel as the test says, after a signal."""
    try:
        await wf.signal("never")
    except asyncio.CancelledError:
        await wf.signal("cleaned")
        if how == "fails":
            raise ValueError("no refund") from None
        if how == "answers":
            return "refunded"
        raise
    return "?"


@workflow(name="waits.parent")
async def parent(how: str, pool: str = "default", again: bool = False) -> list[str]:
    """Cancels what it waits for, and notes the answer."""
    calls: dict[str, Any] = {
        "activity": lambda: wf.call(later.using(delay=3600, pool=pool)),
        "unbegun": lambda: wf.child(child.using(id="the-child", delay=3600, pool=pool), how),
    }
    begin = calls.get(how, lambda: wf.child(child.using(id="the-child", pool=pool), how))
    with wf.cancel_waits():
        task = asyncio.create_task(begin())
    await wf.signal("cancel")
    task.cancel()
    if again:
        await wf.signal("cancel")
        task.cancel()
    try:
        return ["answer", await task]
    except ChildFailed as error:
        return ["failed", error.message]
    except asyncio.CancelledError:
        return ["cancelled"]


@workflow(name="waits.limited")
async def limited() -> list[str]:
    """Has a time limit around a child that answers its cancel."""
    with wf.cancel_waits():
        async with asyncio.timeout(60):
            return [await wf.child(child.using(id="the-child"), "answers")]


@workflow(name="waits.in_one_step")
async def in_one_step(count: int) -> list[str]:
    """Cancels calls that were never given, and calls that wait to begin."""
    with wf.cancel_waits():
        never = asyncio.create_task(wf.call(later.using(delay=3600)))
        await asyncio.sleep(0)
        never.cancel()
        many = [asyncio.create_task(wf.call(later.using(delay=3600))) for _ in range(count)]
    await wf.signal("cancel")
    for task in many:
        task.cancel()
    return [type(each).__name__ for each in await asyncio.gather(never, *many, return_exceptions=True)]


class Far(Stored):
    """Runs of the store, which call in another pool."""

    def work(self) -> None:
        """Let everything run that can run now."""
        for _ in range(3):
            run_worker(pools=["default", FAR])


@pytest.fixture(params=[Memory, Stored, Far])
def where(request: pytest.FixtureRequest, namespace: str) -> Any:
    """Where the runs are."""
    made = request.param()
    if not isinstance(made, Memory):
        made.of = lambda instance: child.using(pool=FAR if isinstance(made, Far) else "default").handle(instance)
    return made


def begin(where: Any, how: str, **options: Any) -> Any:
    """A run that has cancelled what it waits for."""
    run = where.start(parent, how, FAR if isinstance(where, Far) else "default", *options.values())
    where.work()
    run.signal("cancel")
    where.work()
    return run


@pytest.mark.parametrize(
    ("how", "answer"),
    [("answers", ["answer", "refunded"]), ("fails", ["failed", "no refund"]), ("gives up", ["cancelled"])],
)
def test_the_code_waits_for_a_child_that_it_cancels_and_gets_its_answer(where: Any, how: str, answer: Any) -> None:
    run = begin(where, how)
    assert run.state in ("idle", "running")
    where.of("the-child").signal("cleaned")
    where.work()
    assert run.result(timeout=0) == answer
    assert [entry.kind for entry in run.history()].count("ask") == 1
    assert "drop" not in [entry.kind for entry in run.history()]


@pytest.mark.parametrize("how", ["activity", "unbegun"])
def test_what_has_not_begun_ends_at_once_by_a_cancel_that_waits(where: Any, how: str) -> None:
    run = begin(where, how)
    where.work()
    assert run.result(timeout=0) == ["cancelled"]


def test_a_second_cancel_does_not_wait(where: Any) -> None:
    run = begin(where, "answers", again=True)
    assert run.state in ("idle", "running")
    run.signal("cancel")
    where.work()
    assert run.result(timeout=0) == ["cancelled"]
    assert where.of("the-child").state in ("idle", "running")


def test_a_cancel_of_the_run_waits_for_the_child_too(where: Any) -> None:
    run = where.start(limited) if not isinstance(where, Far) else pytest.skip("one pool says it")
    where.work()
    assert run.cancel("enough")
    where.work()
    assert run.state in ("idle", "running")
    where.of("the-child").signal("cleaned")
    where.work()
    assert run.result(timeout=0) == ["refunded"]


@workflow(name="waits.fails")
async def fails(state: str) -> str:
    """Fails in the step that gets the answer to a cancel, while the test says so."""
    with wf.cancel_waits():
        task = asyncio.create_task(wf.child(child.using(id="the-child"), "gives up"))
    await wf.signal("cancel")
    task.cancel()
    await asyncio.wait([task])
    if broken:
        raise ValueError("no stock")
    return f"{task.cancelled()}"


broken: list[bool] = []


def test_a_retried_step_gets_the_answer_to_its_cancel_again(where: Any) -> None:
    broken.append(True)
    run = where.start(fails, "") if not isinstance(where, Far) else pytest.skip("one pool says it")
    where.work()
    run.signal("cancel")
    where.work()
    where.of("the-child").signal("cleaned")
    where.work()
    with pytest.raises(TaskFailed, match="no stock"):
        run.result(timeout=0)
    broken.clear()
    assert run.retry()
    where.work()
    assert run.result(timeout=0) == "True"
    assert where.of("the-child").state == "cancelled"


@pytest.mark.parametrize("count", [1, 5])
def test_calls_that_were_not_given_or_wait_to_begin_end_too(
    namespace: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "AT_ONCE", 2)
    run = in_one_step.start(count)
    run_worker()
    run.signal("cancel")
    run_worker()
    assert run.result(timeout=5) == ["CancelledError"] * (count + 1)
