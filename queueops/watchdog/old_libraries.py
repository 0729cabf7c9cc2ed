"""Old Lua libraries: those of other versions of QueueOps are deleted after a day.

During a deploy, old and new processes call the library of their own version. Nothing tells when the last old process
has ended. So each other library is deleted a day after this watchdog first saw it. A process that still needs it loads
it again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from queueops.model.ports import Upkeep

EVERY_S = 3600.0
KEPT_S = 86_400.0

logger = logging.getLogger("queueops.watchdog")


class OldLibraries:
    """The libraries of other versions, by pool: when each was first seen."""

    def __init__(self, broker: Upkeep, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` counts seconds."""
        self._broker = broker
        self._clock = clock
        self._next: dict[str, float] = {}
        self._seen: dict[tuple[str, str], float] = {}

    def look(self, pool: str) -> list[str]:
        """Check a pool's server, at most once an hour; return the names of the deleted libraries."""
        now = self._clock()
        if now < self._next.get(pool, now):
            return []
        self._next[pool] = now + EVERY_S
        found = self._broker.other_libraries(pool)
        for key in [key for key in self._seen if key[0] == pool and key[1] not in found]:
            del self._seen[key]
        old = [name for name in found if now - self._seen.setdefault((pool, name), now) >= KEPT_S]
        for name in old:
            self._broker.delete_library(pool, name)
            del self._seen[pool, name]  # if a process loads it again, it is kept for another day
            logger.info("deleted the Lua library %s of another version of QueueOps", name)
        return old
