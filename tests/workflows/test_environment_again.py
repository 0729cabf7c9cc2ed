"""Reset, retry and the other methods of a handle: the test environment does what the store and a worker do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queueops import activity, wf, workflow
from queueops.errors import QueueOpsError, ResultTimeout, TaskCancelled, TaskFailed
from queueops.errors.workflows import ChildFailed, InstanceInUse, ResetRefused, RunEnded
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.kinds.workflows.testing.environment_run import EnvironmentRun
from queueops.results.handle import TaskHandle
from queueops.testing import WorkflowEnvironment, run_worker

BROKEN: set[str] = set()
"""Names of activities that fail now."""
CALLS: list[str] = []
"""The activities that ran."""


def _work(name: str) -> str:
    CALLS.append(name)
    if name in BROKEN:
        raise ValueError(name)
    return name.upper()


@activity(name="again.work", retries=0)
def work(name: str) -> str:
    """An activity that fails for some time."""
    return _work(name)


@workflow(name="again.steps")
async def steps() -> list[str]:
    """Activities one after the other, and a signal between them."""
    found = [await wf.call(work, "first")]
    found.append(await wf.signal("go"))
    found.append(await wf.call(work, "second"))
    return found


@workflow(name="again.group")
async def group() -> list[str]:
    """Two activities, a timer and a child at once: if one fails, the others are given up."""
    async with asyncio.TaskGroup() as tasks:
        made = [
            tasks.create_task(wf.call(work, "left")),
            tasks.create_task(wf.call(work.using(delay=0.001), "right")),
            tasks.create_task(wf.child(child.using(id="the-child"), "inner")),
        ]
    return [task.result() for task in made]


@workflow(name="again.child")
async def child(name: str) -> str:
    """Waits for a signal, and calls an activity."""
    await wf.signal("begin")
    return await wf.call(work, name)


@workflow(name="again.chance")
async def chance() -> tuple[float, str, str, Any]:
    """Draws a number before and after a signal."""
    first = wf.random().random()
    told = await wf.signal("go")
    return first, wf.info().origin, wf.info().id, told


@workflow(name="again.parent")
async def parent() -> str:
    """Waits for one child."""
    try:
        return f"child: {await wf.child(child.using(id='the-child'), 'inner')}"
    except ChildFailed as error:
        return f"failed: {error.type}"


class Memory:
    """Runs of the test environment."""

    def __init__(self) -> None:
        self.env = WorkflowEnvironment()
        self.start: Callable[..., EnvironmentRun] = self.env.start

    def work(self) -> None:
        """Let everything run that can run now."""
        self.env.advance(0.01)

    def of(self, instance: str) -> EnvironmentRun:
        """The run of an instance."""
        return EnvironmentRun(self.env, instance, self.env.newest(instance).id)


class Stored:
    """Runs of the store, made by a worker."""

    def start(self, started: Any, *args: Any) -> Any:
        """Start a workflow."""
        return started.start(*args)

    def work(self) -> None:
        """Let everything run that can run now."""
        run_worker()

    def of(self, instance: str) -> Any:
        """The run of an instance."""
        return child.handle(instance)


@pytest.fixture(params=["memory", "store"])
def where(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Where the runs are."""
    CALLS.clear()
    BROKEN.clear()
    if request.param == "store":
        request.getfixturevalue("namespace")
        yield Stored()
    else:
        yield Memory()
    BROKEN.clear()


def kinds(run: Any) -> list[str]:
    """The kinds of the entries of a history."""
    return [entry.kind for entry in run.history()]


def test_a_failed_step_is_made_again_and_no_other(where: Any) -> None:
    BROKEN.add("second")
    run = where.start(steps.using(id="s1"))
    run.signal("go", "now")
    where.work()
    assert run.state == "failed"
    BROKEN.clear()
    assert run.retry()
    where.work()
    assert run.result(timeout=0) == ["FIRST", "now", "SECOND"]
    assert CALLS == ["first", "second", "second"]
    assert kinds(run)[-4:] == ["call", "step", "done", "end"]


def test_a_run_is_begun_from_nothing(where: Any) -> None:
    BROKEN.add("second")
    run = where.start(steps.using(id="s1"))
    run.signal("go", "now")
    where.work()
    BROKEN.clear()
    assert run.retry(everything=True)
    where.work()
    assert run.custom_status() is None
    assert kinds(run) == ["step", "call", "step", "done"]
    run.signal("go", "later")
    where.work()
    assert run.result(timeout=0) == ["FIRST", "later", "SECOND"]
    assert CALLS == ["first", "second", "first", "second"]


def test_a_run_that_has_not_ended_is_not_retried(where: Any) -> None:
    run = where.start(steps.using(id="s1"))
    where.work()
    assert not run.retry()
    assert not run.retry(everything=True)


def test_what_a_failed_step_gave_up_begins_again(where: Any) -> None:
    BROKEN.add("right")
    run = where.start(group.using(id="g1"))
    where.work()
    assert run.state == "failed"
    BROKEN.clear()
    assert run.retry()
    where.work()
    assert run.state in ("running", "idle")
    where.of("the-child").signal("begin")
    where.work()
    assert run.result(timeout=0) == ["LEFT", "RIGHT", "INNER"]
    assert CALLS.count("left") == 1


def test_a_failed_child_makes_its_failed_step_again(where: Any) -> None:
    BROKEN.add("inner")
    run = where.start(strict.using(id="p1"))
    where.work()
    where.of("the-child").signal("begin")
    where.work()
    assert run.state == "failed"
    BROKEN.clear()
    assert run.retry()
    where.work()
    assert run.result(timeout=0) == "INNER"
    assert CALLS == ["inner", "inner"]


@workflow(name="again.strict")
async def strict() -> str:
    """Fails with its child."""
    return await wf.child(child.using(id="the-child"), "inner")


def test_a_reset_makes_a_step_again_with_the_signals_behind_it(where: Any) -> None:
    run = where.start(steps.using(id="s1"))
    run.signal("other")
    where.work()
    run.signal("go", "now")
    where.work()
    assert run.result(timeout=0) == ["FIRST", "now", "SECOND"]
    earlier = kinds(run)
    call = earlier.index("call", 3) + 1
    later = run.reset(call, "again")
    assert later.id != run.id
    where.work()
    assert later.result(timeout=0) == run.result(timeout=0) == ["FIRST", "now", "SECOND"]
    assert CALLS == ["first", "second", "second"]
    assert kinds(later) == earlier


def test_a_reset_ends_an_open_run_and_what_it_began_in_the_step(where: Any) -> None:
    run = where.start(unnamed.using(id="p1"))
    where.work()
    first = where.of(f"{run.id}.1")
    later = run.reset(len(run.history()), "start over")
    where.work()
    assert first.state == "cancelled"
    where.of(f"{later.id}.1").signal("begin")
    where.work()
    assert later.result(timeout=0) == "INNER"
    assert CALLS == ["inner"]


@workflow(name="again.unnamed")
async def unnamed() -> str:
    """Has a child without a name."""
    return await wf.child(child, "inner")


def test_an_open_call_before_the_step_goes_to_the_new_run(where: Any) -> None:
    run = where.start(both.using(id="b1"))
    where.work()
    run.signal("first")
    where.work()
    mark = len(run.history())
    child_run = where.of("the-child").id
    later = run.reset(mark, "once more")
    where.work()
    assert where.of("the-child").id == child_run
    where.of("the-child").signal("begin")
    later.signal("last")
    where.work()
    assert later.result(timeout=0) == "INNER"


@workflow(name="again.both")
async def both() -> str:
    """Has a child open while it reads signals."""
    task = asyncio.ensure_future(wf.child(child.using(id="the-child"), "inner"))
    await wf.signal("first")
    await wf.signal("last")
    return await task


def test_the_new_run_has_another_id_the_same_origin_and_the_same_chance(where: Any) -> None:
    run = where.start(chance.using(id="c1"))
    where.work()
    first_id = run.id
    later = run.reset(1, "again")
    where.work()
    later.signal("go", 1)
    where.work()
    number, origin, id, told = later.result(timeout=0)
    assert (origin, id, told) == (first_id, later.id, 1)
    again = later.reset(1)
    where.work()
    assert again.result(timeout=0)[0] == number


def test_a_cancel_behind_the_step_is_dropped(where: Any) -> None:
    run = where.start(steps.using(id="s1"))
    where.work()
    assert run.cancel("no more")
    where.work()
    assert run.state == "cancelled"
    later = run.reset(1, "not so")
    where.work()
    later.signal("go", "yes")
    where.work()
    assert later.result(timeout=0) == ["FIRST", "yes", "SECOND"]


def test_a_parent_that_waits_follows_a_reset_of_its_child(where: Any) -> None:
    run = where.start(parent.using(id="p1"))
    where.work()
    later = where.of("the-child").reset(1, "again")
    where.work()
    later.signal("begin")
    where.work()
    assert run.result(timeout=0) == "child: INNER"


@pytest.mark.parametrize("entry", [0, 3, 99])
def test_an_entry_that_is_none_is_refused(where: Any, entry: int) -> None:
    run = where.start(chance.using(id="c1"))
    where.work()
    with pytest.raises(ResetRefused, match="has no entry"):
        run.reset(entry)


def test_an_ended_run_takes_nothing(where: Any) -> None:
    run = where.start(steps.using(id="s1"))
    where.work()
    assert run.terminate("enough")
    with pytest.raises(RunEnded, match="cancelled"):
        run.signal("go")
    told = run.terminate(), run.cancel(), run.cancel(hard=True), run.suspend(), run.resume()
    assert told == (False,) * 5
    with pytest.raises(TaskCancelled, match="enough"):
        run.result(timeout=0)


def test_a_delayed_run_begins_later_or_when_it_is_told(where: Any) -> None:
    run = where.start(steps.using(id="s1", delay=3600))
    run.signal("go", "early")
    where.work()
    assert kinds(run) == []
    assert run.run_now()
    where.work()
    assert run.result(timeout=0) == ["FIRST", "early", "SECOND"]
    assert not run.run_now()


def test_time_brings_a_delayed_run() -> None:
    env = WorkflowEnvironment()
    run = env.start(steps.using(delay=3600))
    run.signal("go", "early")
    with pytest.raises(ResultTimeout, match="did not end within 60"):
        run.result(timeout=60)
    before = env.now
    assert run.result() == ["FIRST", "early", "SECOND"]
    assert (env.now - before).total_seconds() == 3540


def test_a_start_of_an_open_instance_is_refused_or_gives_its_run(where: Any) -> None:
    run = where.start(steps.using(id="s1"))
    where.work()
    with pytest.raises(InstanceInUse):
        where.start(steps.using(id="s1"))
    assert where.start(steps.using(id="s1", on_conflict="ignore")).id == run.id


def test_a_failure_is_told_as_it_was(where: Any) -> None:
    BROKEN.add("first")
    run = where.start(steps.using(id="s1"))
    where.work()
    with pytest.raises(TaskFailed, match="first"):
        run.result(timeout=0)


def test_each_method_of_a_handle_works_or_says_what_to_use() -> None:
    methods = {name for kind in (WorkflowHandle, TaskHandle) for name in vars(kind) if not name.startswith("_")}
    missing = {name for name in methods - {"in_memory", "uid", "word"} if not hasattr(EnvironmentRun, name)}
    assert missing == {"id", "pool", "instance"} - set(dir(EnvironmentRun))
    run = WorkflowEnvironment().start(steps)
    assert (run.id, run.pool, run.progress) == (run.id, "default", None)
    with pytest.raises(QueueOpsError, match=r"use state, custom_status\(\) and history\(\)"):
        run.status()
    with pytest.raises(QueueOpsError, match=r"start it with using\(delay=...\)"):
        run.postpone(60)


def test_the_methods_of_async_code_do_the_same() -> None:
    asyncio.run(use_each_method())


async def use_each_method() -> None:
    """Call the async twins."""
    env = WorkflowEnvironment()
    run = env.start(steps.using(id="s1"))
    await run.asignal("go", "now")
    assert await run.asuspend()
    assert await run.aresume()
    assert await run.aresult() == ["FIRST", "now", "SECOND"]
    assert await run.acustom_status() is None
    assert len(await run.ahistory()) == len(run.history())
    later = await run.areset(1)
    assert not await later.arun_now()
    assert await later.acancel()
    assert await later.aterminate()
    assert await later.aretry()
