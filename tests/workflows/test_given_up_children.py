"""Children that are given up and continue as new to clean up: the same in the store and in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from queueops import wf, workflow
from tests.workflows.test_environment_again import Memory, Stored

BROKEN: list[bool] = []


@pytest.fixture(params=["memory", "store"])
def where(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Where the runs are."""
    BROKEN.clear()
    if request.param == "store":
        request.getfixturevalue("namespace")
    yield Stored() if request.param == "store" else Memory()
    BROKEN.clear()


@workflow(name="given_up.child")
async def child(cleans: bool = False) -> str:
    """Cleans up in a run of its own if it is cancelled."""
    if cleans:
        return f"cleaned {await wf.signal('cleaned')}"
    try:
        return f"went {await wf.signal('go')}"
    except asyncio.CancelledError:
        wf.continue_as_new(True)


async def breaks() -> None:
    """Fails after a signal, as long as it is broken."""
    await wf.signal("go")
    if BROKEN:
        raise ValueError("broken")


@workflow(name="given_up.parent")
async def parent() -> str:
    """Has a child beside what may fail."""
    async with asyncio.TaskGroup() as tasks:
        found = tasks.create_task(wf.child(child.using(id="kid")))
        tasks.create_task(breaks())
    return found.result()


@workflow(name="given_up.twice")
async def twice() -> str:
    """Gives its child up, and begins it again."""
    running = asyncio.ensure_future(wf.child(child.using(id="kid")))
    await wf.signal("next")
    running.cancel()
    await wf.signal("again")
    return await wf.child(child.using(id="kid"))


def test_a_retried_step_waits_for_the_run_in_which_its_child_cleans_up(where: Any) -> None:
    BROKEN.append(True)
    run = where.start(parent.using(id="p"))
    where.work()
    run.signal("go")
    where.work()
    assert run.state == "failed"
    BROKEN.clear()
    assert run.retry()
    where.work()
    where.of("kid").signal("cleaned", "all")
    where.work()
    assert run.result(timeout=0) == "cleaned all"


def test_a_reset_run_begins_a_child_again_that_cleans_up_in_another_run(where: Any) -> None:
    run = where.start(twice.using(id="p"))
    where.work()
    run.signal("next")
    where.work()
    first = where.of("kid").id
    later = run.reset(1)  # "next" comes again
    later.signal("again")
    where.work()
    assert where.of("kid").id != first
    where.of("kid").signal("go", "on")
    where.work()
    assert later.result(timeout=0) == "went on"
