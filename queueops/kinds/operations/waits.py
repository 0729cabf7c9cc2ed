"""Waits of operations: what would keep an operation of a filter from its start, by pool."""

from __future__ import annotations

from typing import ClassVar

from queueops.inspect.answers import Answer
from queueops.inspect.lanes import LaneRow, lanes
from queueops.inspect.query import TaskQuery
from queueops.inspect.tasks import walks
from queueops.inspect.workers import WorkerRow, matches_lane, workers
from queueops.kinds.operations.order import LANE

__all__ = ["OperationWait", "operation_waits", "pools_without_workers"]

NO_WORKER, PAUSED, LIMIT, BUSY = "no worker", "paused", "limit", "busy"


class OperationWait(Answer, frozen=True, kw_only=True):
    """Why operations of a pool do not begin at once.

    The reason is `no worker` (none serves the lane), `paused` or `limit` (of the lane), or `busy` (all slots are).
    """

    TEXTS: ClassVar[tuple[str, ...]] = ()

    pool: str
    reason: str
    lane: str = LANE

    @property
    def never(self) -> bool:
        """Whether nothing begins until an operator acts."""
        return self.reason in (NO_WORKER, PAUSED)


def operation_waits(query: TaskQuery) -> list[OperationWait]:
    """What would keep operations from their start, in the pools with tasks that match. Raises FilterError."""
    found = walks(query).found
    if not found:
        return []
    taking = [row for row in workers() if row.state == "live" and matches_lane(row.lanes, LANE)]
    conf = {row.pool: row for row in lanes() if row.lane == LANE}
    reasons = {pool: _reason(conf.get(pool), [row for row in taking if pool in row.pools]) for pool in sorted(found)}
    return [OperationWait(pool=pool, reason=reason) for pool, reason in reasons.items() if reason]


def pools_without_workers(query: TaskQuery) -> list[str]:
    """The pools with tasks that match, where no live worker could perform an operation now. Raises FilterError."""
    return [wait.pool for wait in operation_waits(query) if wait.reason == NO_WORKER]


def _reason(lane: LaneRow | None, serving: list[WorkerRow]) -> str:
    if not serving:
        return NO_WORKER
    if lane is not None and lane.paused:
        return PAUSED
    if lane is not None and lane.limit is not None and lane.active >= lane.limit:
        return LIMIT
    return BUSY if sum(row.busy for row in serving) >= sum(row.slots for row in serving) else ""
