"""Children with an id of their own: the next run of their parent begins them again, in the store and in memory."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queueops import wf, workflow
from queueops.errors import TaskFailed
from queueops.errors.workflows import ChildFailed
from queueops.testing import run_worker
from tests.workflows.test_environment_again import CALLS, Memory, Stored, child, kinds, strict


@pytest.fixture(params=["memory", "store"])
def where(request: pytest.FixtureRequest) -> Any:
    """Where the runs are."""
    CALLS.clear()
    if request.param == "store":
        request.getfixturevalue("namespace")
    return Stored() if request.param == "store" else Memory()


@workflow(name="again.tidy")
async def tidy(name: str) -> str:
    """A child that takes its time to clean up, and has a child of its own."""
    try:
        return await wf.child(child.using(id="grandchild"), name)
    except asyncio.CancelledError:
        await wf.signal("cleaned")
        raise


@workflow(name="again.named")
async def named() -> str:
    """Has a child with a name, after a signal."""
    found = str(await wf.signal("go"))
    return await wf.child(tidy.using(id="the-child"), found)


@workflow(name="again.tries")
async def tries(pool: str) -> list[str]:
    """Begins a child whose instance may be in use."""
    try:
        return [await wf.child(child.using(id="the-child", pool=pool), "a")]
    except ChildFailed as error:
        return [type(error).__name__, error.type, str(error)]


@pytest.mark.parametrize("pool", ["default", "wf-other"])
def test_a_child_whose_instance_is_in_use_has_an_error_of_its_own(where: Any, pool: str) -> None:
    if pool != "default" and isinstance(where, Memory):
        pytest.skip("a run in memory has one pool")
    open_run = where.start(child.using(id="the-child", pool=pool), "b")
    where.work()
    run = where.start(tries, pool)
    for _ in range(3):
        where.work()
        run_worker(pools=["wf-other"]) if pool != "default" else None
    name, type_, text = run.result(timeout=0)
    assert (name, type_) == ("ChildInUse", "InstanceInUse")
    assert text.endswith(f"did not begin: its instance the-child has a run that has not ended: {open_run.id}")


def test_a_reset_begins_a_named_child_again_that_still_cleans_up(where: Any) -> None:
    run = where.start(named.using(id="n1"))
    run.signal("go", "inner")
    where.work()
    first = where.of("the-child").id
    later = run.reset(len(run.history()), "once more")
    where.work()
    assert where.of("the-child").id != first
    assert {later.state, where.of("grandchild").state} <= {"running", "idle"}
    where.of("grandchild").signal("begin")
    where.work()
    assert later.result(timeout=0) == "INNER"


def test_a_reset_begins_a_named_child_again_that_has_ended(where: Any) -> None:
    run = where.start(named.using(id="n1"))
    run.signal("go", "inner")
    where.work()
    where.of("grandchild").signal("begin")
    where.work()
    first = where.of("the-child").id
    later = run.reset(kinds(run).index("child") + 1, "once more")
    where.work()
    where.of("grandchild").signal("begin")
    where.work()
    assert later.result(timeout=0) == "INNER"
    assert where.of("the-child").id != first
    assert CALLS == ["inner", "inner"]


def test_a_child_that_somebody_else_waits_for_is_in_use(where: Any) -> None:
    other = where.start(strict.using(id="other"))
    run = where.start(strict.using(id="n1"))
    where.work()
    with pytest.raises(TaskFailed, match="the-child"):
        run.result(timeout=0)
    later = run.reset(1, "once more")
    where.work()
    with pytest.raises(TaskFailed, match="the-child"):
        later.result(timeout=0)
    where.of("the-child").signal("begin")
    where.work()
    assert other.result(timeout=0) == "INNER"


@workflow(name="again.in_rounds")
async def in_rounds(left: int) -> str:
    """Continues as new while its child is open, and begins that again."""
    running = asyncio.ensure_future(wf.child(tidy.using(id="the-child"), "inner"))
    if left:
        await wf.signal("next")
        wf.continue_as_new(left - 1)
    return await running


def test_a_run_that_continued_as_new_begins_its_named_child_again(where: Any) -> None:
    run = where.start(in_rounds.using(id="n1"), 1)
    where.work()
    run.signal("next")
    where.work()
    where.of("grandchild").signal("begin")
    where.work()
    assert run.result(timeout=0) == "INNER"
