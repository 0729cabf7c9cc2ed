"""Children that have not begun: a parent that gives one up ends it at once, in the store and in memory."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queueops import wf, workflow
from queueops.errors import TaskCancelled
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.workflows.test_environment_again import CALLS, Memory, Stored, child
from tests.workflows.test_other_pools import FAR
from tests.workflows.test_other_pools import work as work_far

REASON = "its parent does not need it any more"


@pytest.fixture(params=["memory", "store"])
def where(request: pytest.FixtureRequest) -> Any:
    """Where the runs are."""
    CALLS.clear()
    if request.param == "store":
        request.getfixturevalue("namespace")
    return Stored() if request.param == "store" else Memory()


@workflow(name="delayed.parent")
async def parent(delay: float, pool: str = "default") -> str:
    """Has a child that begins later, and gives it up after a signal."""
    later = asyncio.ensure_future(wf.child(child.using(id="later", delay=delay, pool=pool), "word"))
    await wf.signal("enough")
    later.cancel()
    try:
        await later
    except asyncio.CancelledError:
        await wf.signal("go")
    return "went on"


def test_a_child_that_is_given_up_before_it_begins_ends_at_once(where: Any) -> None:
    run = where.start(parent.using(id="p"), 3600)
    where.work()
    assert where.of("later").state in ("postponed", "running")
    run.signal("enough")
    where.work()
    later = where.of("later")
    assert later.state == "cancelled"
    with pytest.raises(TaskCancelled, match=REASON):
        later.result(timeout=0)
    assert later.history() == []
    run.signal("go")
    where.work()
    assert run.result(timeout=0) == "went on"
    other = where.start(child.using(id="later"), "word")  # the id is free
    where.work()
    assert other.state != "cancelled"


@pytest.mark.parametrize("how", ["terminate", "cancel"])
def test_the_end_of_a_parent_ends_a_child_that_has_not_begun(where: Any, how: str) -> None:
    run = where.start(parent.using(id="p"), 3600)
    where.work()
    getattr(run, how)("enough")
    where.work()
    assert (run.state, where.of("later").state) == ("cancelled", "cancelled")


@workflow(name="delayed.once")
async def once() -> str:
    """Fails beside a child that begins later, as long as it is broken."""
    async with asyncio.TaskGroup() as tasks:
        later = tasks.create_task(wf.child(child.using(id="later", delay=3600), "word"))
        tasks.create_task(breaks())
    return later.result()


BROKEN: list[bool] = []


async def breaks() -> None:
    await wf.signal("go")
    if BROKEN:
        raise ValueError("broken")


def test_a_child_of_a_retried_step_begins_at_its_time(where: Any) -> None:
    BROKEN.append(True)
    run = where.start(once.using(id="o"))
    where.work()
    run.signal("go")
    where.work()
    assert (run.state, where.of("later").state) == ("failed", "cancelled")
    BROKEN.clear()
    assert run.retry()
    where.work()
    later = where.of("later")
    assert (later.state in ("postponed", "running"), later.history()) == (True, [])
    assert later.run_now()
    where.work()
    later.signal("begin")
    where.work()
    assert run.result(timeout=0) == "WORD"


@pytest.mark.usefixtures("namespace")
def test_a_child_in_another_pool_ends_at_once() -> None:
    run = parent.using(id="p").start(3600, FAR)
    work_far()
    run.signal("enough")
    work_far()
    assert child.using(pool=FAR).handle("later").state == "cancelled"


@pytest.mark.usefixtures("namespace")
def test_the_indexes_fit_after_a_child_has_ended_so() -> None:
    run = parent.using(id="p").start(3600)
    run_worker()
    run.signal("enough")
    run_worker()
    assert list(get_broker().check("default", "").faults) == []
