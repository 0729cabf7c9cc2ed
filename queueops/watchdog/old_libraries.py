"""Old Lua libraries: those of other versions of QueueOps are deleted a day after their last use.

During a deploy, old and new processes call the library of their own version. Each process that works notes that, once a
minute. So a library that a worker, a watchdog or a producer uses stays, however long a deploy takes. The times are in
the store: a restart of a watchdog does not begin the day again. A process that was silent for a day loads its library
again. Processes of other namespaces on the same server note it elsewhere, and load theirs again, too.
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
    """Deletes the libraries of other versions that no process uses."""

    def __init__(self, broker: Upkeep, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` counts seconds."""
        self._broker = broker
        self._clock = clock
        self._next: dict[str, float] = {}

    def look(self, pool: str) -> list[str]:
        """Check a pool's server, at most once an hour; return the names of the deleted libraries."""
        now = self._clock()
        if now < self._next.get(pool, now):
            return []
        self._next[pool] = now + EVERY_S
        old = [name for name, age in self._broker.other_libraries(pool).items() if age >= KEPT_S]
        for name in old:
            self._broker.delete_library(pool, name)
            logger.info("deleted the Lua library %s of another version of QueueOps", name)
        return old
