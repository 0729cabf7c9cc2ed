"""Data loss detector: compares what the store knows now with what it had acknowledged before.

Redis acknowledges a write before replicas and disk have it. So a failover, a restart, or FLUSHALL can undo acknowledged
writes. The watchdog remembers the primary's replication offset, and each pool's counter, which never decreases. In a
cluster, a failover while a slot moves can leave keys of a pool on another server.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from queueops.model.losses import Loss, Replication
from queueops.model.ports import Upkeep

SUCCEEDED = (
    "a replica has become the primary. It has all that the watchdog saw of the old one; "
    "what was acknowledged after that look may be lost"
)

logger = logging.getLogger("queueops.watchdog")


class Losses:
    """What was known of each pool at the last check. Thread-safe for threads with different pools."""

    def __init__(self, broker: Upkeep) -> None:
        self._broker = broker
        self._servers: dict[str, Replication] = {}
        self._counters: dict[str, int] = {}
        self._processes: dict[str, str] = {}
        self._new: dict[str, Loss] = {}

    @property
    def pools(self) -> set[str]:
        """The pools that held data."""
        return {pool for pool, counter in list(self._counters.items()) if counter}

    def look_at_servers(self, pools: Iterable[str]) -> None:
        """Compare the replication stream of each pool's server with the last observation. Raises BrokerUnavailable."""
        seen: dict[str, Replication | None] = {}
        for pool in pools:
            server = self._broker.server(pool)
            if server not in seen:
                seen[server] = self._broker.replication(pool)
            if (now := seen[server]) is not None and now.is_primary:
                before = self._servers.get(pool)
                if before is None or (before.run_id, before.stream) != (now.run_id, now.stream):
                    self._compare(pool, before, now)
                self._servers[pool] = now

    def _compare(self, pool: str, before: Replication | None, now: Replication) -> None:
        """Compare a server that was not known with the one before, and look for keys that are on a third one."""
        missing = now.lacks(before) if before is not None else 0
        stranded, left_on = self._broker.stranded(pool)
        if missing or stranded:
            self._new[pool] = Loss(at=0, missing=missing, restarted=missing > 0, stranded=stranded, left_on=left_on)
        elif before is not None and now.succeeds(before):
            logger.warning("pool %s: %s", pool, SUCCEEDED)

    def look(self, pool: str, sampled: Mapping[str, Any]) -> None:
        """Compare a pool's counter with the last observation, and store a loss in the pool, to be shown."""
        counter, before = int(sampled.get("seq") or 0), self._counters.get(pool, 0)
        self._counters[pool] = counter
        server = self._servers.get(pool)
        process = "" if server is None else server.run_id
        restarted = self._processes.get(pool, process) != process
        self._processes[pool] = process
        loss = self._new.pop(pool, None)
        if counter < before and not self._broker.was_flushed(pool):
            loss = loss or Loss(at=0)
            restarted = restarted or loss.missing > 0
            loss = msgspec.structs.replace(loss, before=before, after=counter, restarted=restarted)
        if loss is not None:
            self._tell(pool, msgspec.structs.replace(loss, at=int(sampled["taken"])))

    def _tell(self, pool: str, loss: Loss) -> None:
        logger.error("pool %s lost data that the store had acknowledged: %s", pool, loss)
        self._broker.leave_loss(pool, msgspec.json.encode(loss))
