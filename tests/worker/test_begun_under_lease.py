"""What a task begins by a handle is refused once its lease is lost: it has frozen, and another worker runs it again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queueops import jobs, task, wf, workflow
from queueops.errors.leases import LeaseLost
from queueops.model.contracts import Lease
from queueops.redis.broker import get_broker
from queueops.tasks import context, registry
from tests.kernel.desk import Desk
from tests.support.rig import Silent

POOLS = ["default", "north"]


@task(retries=5)
def begins() -> None:
    """The task that begins something."""


@workflow
async def waits() -> None:
    """Wait for a signal."""
    await wf.signal("go")


@pytest.fixture
def desk(namespace: str) -> Desk:
    """The pool of the task."""
    return Desk(get_broker())


@pytest.fixture
def lease(desk: Desk) -> Iterator[Lease]:
    """The lease of the task that runs here."""
    begins.push()
    lease = desk.lease()
    handler = registry.find(lease.kind, lease.name, lease.phase)
    assert handler is not None
    token = context.enter(context.Context(lease, handler, Silent()))
    yield lease
    context.leave(token)


def ways(pool: str) -> dict[str, Callable[[], Any]]:
    """Each way to begin something; what a signal is for has begun outside of the task."""
    run = waits.using(pool=pool)
    return {
        "run": run.start,
        "run of an instance": lambda: run.start(id="again"),
        "signal": lambda: run.handle("before").signal("go", 1),
        "job": lambda: jobs.submit(aggregation="shop", handler="resize", pool=pool),
        "jobs": lambda: jobs.submit_many([{"aggregation": "shop", "handler": "resize", "pool": pool}] * 3),
    }


NAMES = list(ways("default"))


def lose(desk: Desk, lease: Lease) -> None:
    desk.make_due(lease.id)
    assert desk.tick()["recovered"] == 1


@pytest.fixture(params=POOLS)
def pool(request: pytest.FixtureRequest, desk: Desk) -> str:
    """The pool of what is begun, with a run that waits."""
    pool: str = request.param
    waits.using(pool=pool, id="before").start()
    return pool


@pytest.mark.parametrize("name", NAMES)
def test_a_task_begins_nothing_after_its_lease_was_lost(desk: Desk, lease: Lease, pool: str, name: str) -> None:
    lose(desk, lease)
    other = Desk(get_broker(), pool)
    before = other.everything()
    with pytest.raises(LeaseLost, match=f"The task {lease.id} no longer holds its lease"):
        ways(pool)[name]()
    assert other.everything() == before


@pytest.mark.parametrize("name", NAMES)
def test_a_task_begins_what_it_wants_while_it_holds_its_lease(desk: Desk, lease: Lease, pool: str, name: str) -> None:
    before = Desk(get_broker(), pool).everything()
    ways(pool)[name]()
    assert Desk(get_broker(), pool).everything() != before


def test_async_code_of_a_task_is_refused_as_well(desk: Desk, lease: Lease, pool: str) -> None:
    """Its calls run in other threads."""
    lose(desk, lease)
    run = waits.using(pool=pool)
    with pytest.raises(LeaseLost):
        asyncio.run(run.astart())
    with pytest.raises(LeaseLost):
        asyncio.run(run.handle("before").asignal("go"))
