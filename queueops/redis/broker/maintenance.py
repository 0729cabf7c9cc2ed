"""Maintenance calls of the watchdog, and the snapshots that it writes for the console."""

from __future__ import annotations

import logging
from typing import Any

from redis.exceptions import ResponseError

from queueops.errors import StoreFull
from queueops.errors.refusals import StoreRefuses
from queueops.model import endings
from queueops.model.contracts import TickReport
from queueops.model.losses import Replication
from queueops.redis.library import PREFIX
from queueops.redis.query_replies import text
from queueops.redis.scripts import is_missing
from queueops.redis.store_client import BATCH, FORGET_WORKER_MS, LONGEST_SLEEP_MS, StoreClient
from queueops.redis.wrong_types import replies

LANES_SHOWN = 50

logger = logging.getLogger("queueops.watchdog")


class MaintenanceCalls(StoreClient):
    """Ticks, samples and snapshots."""

    def tick(self, pool: str, limit: int = BATCH) -> TickReport:
        """One round of the watchdog on a pool: at most ``limit`` entries of its agenda."""
        reply = self._call(
            "tick", pool, limit, self.settings.retention_cap, FORGET_WORKER_MS, LONGEST_SLEEP_MS, self.rules
        )
        endings.tell(endings.read(pool, reply[1]))
        words = iter(reply[2:])
        return TickReport({word.decode(): count for word, count in zip(words, words, strict=True)}, int(reply[0]))

    def empty_trash(self, pool: str, before: str = "") -> tuple[int, int, str]:
        """Delete a batch of the trash for good; returns how many were deleted, how many are left, and ``before``.

        ``before`` is the time of the first call: what is deleted later stays in the trash.
        """
        deleted, left, until = self._call("empty_trash", pool, BATCH, before)
        return int(deleted), int(left), text(until)

    def sample(self, pool: str) -> bytes:
        """The figures of a pool now, as JSON (see ``lua/sample.lua``)."""
        sampled: bytes = self._call("look_sample", pool, LANES_SHOWN, "", 0)
        return sampled

    def draw(self, pool: str, holder: str, ms: int) -> bytes:
        """Store a sample as the snapshot that every page reads; empty if another watchdog did so within ``ms``."""
        sampled: bytes = self._call("sample", pool, LANES_SHOWN, holder, max(1, ms))
        return sampled

    def other_libraries(self, pool: str) -> dict[str, float]:
        """The Lua libraries of other versions on the pool's server, and the seconds since a process used each.

        None where the server may not be asked.
        """

        def listed(client: Any) -> Any:
            try:
                return client.function_list(f"{PREFIX}*")
            except ResponseError as error:
                if not is_missing(error):
                    raise
                return ()  # a server without functions

        try:
            found = self.ask(pool, listed)
        except StoreRefuses:
            return {}
        rows = [dict(zip(row[::2], row[1::2], strict=True)) if isinstance(row, list) else row for row in found]
        names = {text(row[b"library_name"]) for row in rows}
        try:
            return self.library_use.ages(sorted(names - {self.scripts.library.name}))
        except StoreFull:  # what is in use now cannot be noted: none is deleted
            return {}

    def delete_library(self, pool: str, name: str) -> None:
        """Delete a Lua library on the pool's server. A process that needs it loads it again."""
        try:
            self.ask(pool, lambda client: client.function_delete(name))
        except (StoreRefuses, ResponseError) as error:  # no permission, or another watchdog was first
            logger.debug("the library %s was not deleted: %s", name, error)
        self.library_use.forget(name)

    def replication(self, pool: str) -> Replication | None:
        """The replication offset of a pool's server; None where INFO is not permitted."""
        try:
            info = self.ask(pool, lambda client: client.info())
        except StoreRefuses:  # INFO is among the commands that -@dangerous forbids
            return None
        return Replication(
            run_id=str(info.get("run_id", "")),
            is_primary=str(info.get("role", "master")) == "master",
            stream=str(info.get("master_replid", "")),
            offset=int(info.get("master_repl_offset", 0)),
            taken_over=str(info.get("master_replid2", "")),
            taken_over_at=int(info.get("second_repl_offset", -1)),
        )

    def stranded(self, pool: str) -> tuple[int, str]:
        """How many keys of a pool are on another server than the one that has its slot, and on which.

        0 if none is, and where CLUSTER is not permitted.
        """
        try:
            return self.repeat(self.servers.stranded, self.keys(pool).prefix, pool=pool)
        except StoreRefuses:
            return 0, ""

    def leave_loss(self, pool: str, data: bytes) -> None:
        """Store a report of lost data in its pool; samples show it."""
        self.ask(pool, lambda client: client.hset(self.keys(pool).clock, "loss", data))

    def leave_faults(self, pool: str, data: bytes) -> None:
        """Store in a pool what its watchdog cannot do; samples show it."""
        self.ask(pool, lambda client: client.hset(self.keys(pool).clock, "fault", data))

    def leave_broken(self, pool: str, name: str) -> None:
        """Store in a pool the name (after its prefix) of a key of a wrong type; samples show it."""
        keys = self.keys(pool)
        key = f"{keys.prefix}:{name}"

        def leave(client: Any) -> None:
            found = {"named": key, "named_type": text(client.type(key)), "named_at": int(client.time()[0]) * 1000}
            replies(client, lambda pipe: pipe.hset(keys.clock, mapping=found))

        self.ask(pool, leave)
