"""Children that continue as new: their parent knows the last run, also if earlier ones were deleted, or are many."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from queueops import control, inspect, wf, workflow
from queueops.errors.workflows import InstanceGone
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.fsck import Fault
from queueops.model.states import State
from queueops.redis.broker import get_broker, get_role
from queueops.testing import run_worker
from tests.workflows.test_other_pools import FAR, work

pytestmark = pytest.mark.usefixtures("memory")
BROKEN: list[bool] = []
CHAIN = 60


@pytest.fixture(autouse=True)
def _mended() -> Iterator[None]:
    BROKEN.clear()
    yield
    BROKEN.clear()


@workflow(name="continued.tidy")
async def tidy(cleans: bool = False) -> str:
    """Cleans up in a run of its own when it is cancelled."""
    if cleans:
        return f"cleaned {await wf.signal('cleaned')}"
    with_cancel = False
    try:
        await wf.signal("word")
    except asyncio.CancelledError:
        with_cancel = True
    wf.continue_as_new(with_cancel)


@workflow(name="continued.gives_up")
async def gives_up() -> str:
    """Gives its child up after a signal."""
    running = asyncio.ensure_future(wf.child(tidy.using(id="tidy")))
    await wf.signal("enough")
    running.cancel()
    await asyncio.wait([running])
    return str(await wf.signal("go"))


@workflow(name="continued.child")
async def child(left: int) -> str:
    """Continues as new so many times, and waits for a signal."""
    if left:
        wf.continue_as_new(left - 1)
    return f"child {await wf.signal('word')}"


@workflow(name="continued.parent")
async def parent(pool: str = "default", name: str = "named") -> str:
    """Waits for its child and for a signal, after which it may fail."""
    named = child.using(id=name, pool=pool) if name else child.using(pool=pool)
    async with asyncio.TaskGroup() as tasks:
        found = tasks.create_task(wf.child(named, CHAIN))
        tasks.create_task(breaks())
    return found.result()


async def breaks() -> None:
    """Fails after a signal, as long as it is broken."""
    await wf.signal("go")
    if BROKEN:
        raise ValueError("broken")


def faults(*pools: str) -> list[Fault]:
    """What the consistency check finds."""
    found, cursor = [], ""
    for pool in pools or ("default",):
        while True:
            page = get_broker().check(pool, cursor)
            found += page.faults
            cursor = page.next
            if not cursor:
                break
    return found


def open_calls(run: WorkflowHandle[str]) -> list[tuple[str, str]]:
    """The open commands of a run: their tasks and states."""
    view = inspect.workflow_run(run.id)
    assert view is not None
    return [(call.task, call.state) for call in view.calls]


def delete_children() -> None:
    """Delete all runs of the child; the index of instances has nothing of them then."""
    page = inspect.workflow_runs(name="continued.child", limit=200)
    rows = control.delete([row.id for row in page.rows])
    assert {row.word for row in rows} == {"OK"}
    broker = get_broker()
    assert broker.client.hgetall(broker.keys("default").instances).keys() == {b"p"}


def test_a_child_that_was_given_up_stays_given_up_when_it_continues_as_new() -> None:
    run = gives_up.using(id="p").start()
    run_worker()
    run.signal("enough")
    run_worker()
    assert open_calls(run) == []
    tidy.handle("tidy").signal("cleaned")
    run_worker()
    assert tidy.handle("tidy").result(timeout=0) == "cleaned None"
    assert (open_calls(run), faults()) == ([], [])


def test_a_child_of_an_ended_parent_leaves_nothing_at_it_when_it_continues_as_new() -> None:
    run = gives_up.using(id="p").start()
    run_worker()
    run.terminate()
    run_worker()
    assert get_role(WorkflowCalls).raw_calls("default", run.id, 0, 10) == (0, {})


@pytest.mark.parametrize("name", ["named", ""])
def test_a_retried_step_waits_for_the_last_run_of_a_child_with_many_runs(name: str) -> None:
    run = parent.using(id="p").start("default", name)
    run_worker()
    last = child.handle(name or f"{run.id}.1")
    (row,) = inspect.run_children(run.id).rows
    assert (row.id, row.state) == (last.id, State.IDLE)
    BROKEN.append(True)
    run.signal("go")
    run_worker()
    assert (run.state, last.state) == (State.FAILED, State.CANCELLED)
    BROKEN.clear()
    assert run.retry()
    run_worker()
    assert open_calls(run) == [(last.id, State.IDLE)]
    last.signal("word", "on")
    run_worker()
    assert run.result(timeout=0) == "child on"


@pytest.mark.parametrize("name", ["named", ""])
def test_a_child_in_another_pool_is_known_when_its_first_run_is_gone(name: str) -> None:
    run = parent.using(id="p").start(FAR, name)
    work()
    last = child.using(pool=FAR).handle(name or f"{run.id}.1")
    assert control.delete([f"{run.id}.1"], pool=FAR)[0].word == "OK"
    assert open_calls(run)[0] == (last.id, State.IDLE)
    assert [row.id for row in inspect.run_children(run.id).rows] == [last.id]
    assert any("continued.child, which is idle" in each.text for each in inspect.why(run.id))
    assert faults("default", FAR) == []
    run.cancel()
    work()
    assert last.state == State.CANCELLED


def test_nothing_is_left_of_children_that_are_deleted() -> None:
    run = parent.using(id="p").start()
    run_worker()
    again = run.reset(1)  # the step begins the child once more
    run_worker()
    child.handle("named").signal("word", "on")
    again.signal("go")
    run_worker()
    assert again.result(timeout=0) == "child on"
    delete_children()
    assert faults() == []


def test_a_parent_that_was_reset_knows_the_last_run_of_its_open_child() -> None:
    run = parent.using(id="p").start()
    run_worker()
    run.signal("go")
    run_worker()
    again = run.reset(len(run.history()))
    run_worker()
    last = child.handle("named")
    assert open_calls(again) == [(last.id, State.IDLE)]
    last.signal("word", "on")
    run_worker()
    assert again.result(timeout=0) == "child on"
    delete_children()


def test_a_deleted_run_is_no_run_of_its_instance_until_it_is_restored() -> None:
    run = child.using(id="named").start(0)
    run_worker()
    run.signal("word", "on")
    run_worker()
    control.delete([run.id])
    assert faults() == []
    with pytest.raises(InstanceGone):
        child.handle("named")
    control.restore([run.id])
    assert child.handle("named").result(timeout=0) == "child on"
    control.delete([run.id])
    newer = child.using(id="named").start(0)
    control.restore([run.id])
    assert child.handle("named").id == newer.id
