"""A worker in slow motion: an operation is claimed, and performed part by part."""

from __future__ import annotations

from queueops.kinds.operations.handlers import order_of
from queueops.kinds.operations.order import LANE, OPERATION, Step
from queueops.kinds.operations.store import OperationCalls
from queueops.model.contracts import Lease
from queueops.redis.broker import get_role
from tests.kernel.desk import Desk


def claimed(desk: Desk, id: str = "") -> Lease:
    """The lease of an operation. The other lanes are paused meanwhile."""
    lanes = {lane.decode() for lane in desk.client.zrange(desk.keys.lanes, 0, -1)} - {LANE}
    for lane in lanes:
        desk.broker.lane(desk.pool, lane, paused=1)
    (lease,) = desk.claim(500)
    assert id in ("", lease.id)
    for lane in lanes:
        desk.broker.lane(desk.pool, lane, paused=None)
    return lease


def part(lease: Lease) -> Step:
    """One call."""
    return get_role(OperationCalls).operate(lease.pool, lease.id, lease.fence, order_of(OPERATION, lease.args))


def through(lease: Lease) -> Step:
    """All calls of an operation."""
    while (step := part(lease)).word == "MORE":
        pass
    return step
