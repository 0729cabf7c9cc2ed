"""A hard cancel of a run: what it has begun is interrupted, also below its children and in other pools."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queueops import wf, workflow
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.contracts import Extend, Lease, RoundTrip
from queueops.model.states import State
from queueops.redis.broker import get_broker, get_role
from tests.workflows.test_other_pools import FAR, work
from tests.workflows.test_runs import add

pytestmark = pytest.mark.usefixtures("memory")


@workflow(name="hard.inner")
async def inner() -> str:
    """Answers a cancel, if it is asked."""
    try:
        await wf.call(add.using(delay=3600, pool=wf.info().pool), 3, 4)
    except asyncio.CancelledError:
        return "asked"
    return "?"


@workflow(name="hard.outer")
async def outer(pool: str) -> None:
    """Runs an activity, and a child with an activity."""
    child = inner.using(id="inner", pool=pool)
    await asyncio.gather(wf.call(add.using(delay=3600, pool=pool), 1, 2), wf.child(child))


def begun(pool: str) -> tuple[WorkflowHandle[Any], str, list[Lease]]:
    """A run whose activities a worker has: its own, and that of its child. With the id of the child."""
    run: WorkflowHandle[Any] = outer.start(pool)
    work()
    child = get_role(WorkflowCalls).newest_run(pool, "inner")
    assert child is not None
    broker = get_broker()
    broker.control(pool, "run_now", [f"{run.id}.1", f"{child}.1"])
    return run, child, list(broker.exchange(pool, "w1", RoundTrip(want=2)).leases)


def told(lease: Lease) -> tuple[bool, bool]:
    """Whether the worker of an activity is told to stop it, and to interrupt it."""
    reply = get_broker().exchange(lease.pool, "w1", RoundTrip(extend=[Extend(lease.id, lease.fence, 60_000)]))
    return lease.id in dict(reply.cancels), lease.id in reply.hard


@pytest.mark.parametrize("pool", ["default", FAR])
@pytest.mark.parametrize("hard", [True, False])
def test_what_a_run_has_begun_is_told_whether_it_is_to_be_interrupted(pool: str, hard: bool) -> None:
    run, child, (own, of_child) = begun(pool)
    assert run.cancel("enough", hard=True) if hard else run.terminate("enough")
    work()
    assert (run.state, told(own)) == (State.CANCELLED, (True, hard))
    record = get_broker().record(pool, child)
    assert record is not None
    assert (record.state, told(of_child)) == (State.CANCELLED if hard else State.SUCCEEDED, (True, hard))
