"""Fenced pushes: a push of a running task is refused once the task's lease is no longer current.

In the pool of that task, the script that creates tasks checks the lease itself. In another pool it cannot. The lease is
looked up first, and the push carries the time at which it expires. A task that is frozen in between is too late.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queueops.errors.leases import LeaseLost
from queueops.model.contracts import LeaseRef
from queueops.redis.pushwire import Argument
from queueops.redis.store_client import StoreClient

STALE = b"STALE"
TRIES = 3
"""How often a push to another pool is attempted. It may be too late for one lease, and in time after a renewal."""


class Fencing(StoreClient):
    """Calls of scripts that create tasks, under the lease of a running task."""

    def _create(self, script: str, pool: str, arguments: Sequence[Argument], under: LeaseRef | None) -> Any:
        """Call ``enqueue`` or ``displace``. With a lease, the number of tasks is negative, and the lease comes last."""
        if under is None:
            return self._call(script, pool, *arguments)
        count, *rest = arguments
        return self._fenced(pool, under, lambda proof: self._call(script, pool, -int(count), *rest, *proof))

    def _fenced(self, pool: str, under: LeaseRef, call: Any) -> Any:
        """Return the result of ``call``, given proof that the lease is current. Raises LeaseLost."""
        for _ in range(TRIES):
            reply = call(self._proof(pool, under))
            if reply[0] != STALE:
                return reply
            if under.pool == pool:
                break
        raise _lost(under)

    def _proof(self, pool: str, under: LeaseRef) -> tuple[Argument, Argument]:
        """For the lease's pool, its task and fence. For another pool, the lease's expiry by that pool's clock."""
        if under.pool == pool:
            return under.id, under.fence
        before = self._clock(pool)
        left, at = self._call("lease_time_left", under.pool, under.id, under.fence)
        if left <= 0:
            raise _lost(under)
        return "", (at if before is None else before) + left

    def _clock(self, pool: str) -> int | None:
        """The time of the pool's node in ms, which may be another node than that of the lease."""
        if not self.servers.is_cluster:
            return None
        seconds, microseconds = self.ask(pool, lambda client: client.time())
        return int(seconds) * 1000 + int(microseconds) // 1000


def _lost(under: LeaseRef) -> LeaseLost:
    return LeaseLost(id=under.id, fence=under.fence)
