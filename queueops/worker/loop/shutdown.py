"""Shutdown sequence: claims nothing more, gives unstarted tasks back, and grants running tasks the grace time."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import NamedTuple

from queueops.errors import Shutdown
from queueops.model.contracts import Lease
from queueops.worker.execution.thread_executor import ThreadExecutor

NEVER = float("inf")
LAST_WORD = 0.5
"""Seconds that an interrupted task has for its ``finally`` before it is released, even if it still runs."""
FLUSH = 5.0
"""Seconds for sending the last outcomes to Redis, if it can't be reached at once."""

logger = logging.getLogger("queueops.worker")


class Ending(NamedTuple):
    """Why the process ends. ``retired``: it is to be replaced. Not ``clean``: it left leases behind."""

    reason: str
    retired: bool = False
    clean: bool = True


class StopOrder:
    """How often the process was told to stop; twice means at once. Handlers of signals count, and the loop reads."""

    times = 0


class ShutdownSequence:
    """Starts with ``begin``; each turn calls ``step``, which returns what to release in it."""

    def __init__(self, executor: ThreadExecutor) -> None:
        self.ending: Ending | None = None
        self.at = NEVER
        self._executor = executor
        self._interrupted = False
        self.released_all = False

    def begin(self, ending: Ending, at: float) -> None:
        """End by the moment ``at`` of the monotonic clock; a second call can only make it earlier.

        With NEVER, running tasks have unlimited time, and claimed tasks are still started.
        """
        if self.ending is None:
            self.ending = ending
            logger.info("Shutting down: %s", ending.reason)
        self.at = min(self.at, at)

    def step(self, now: float, held: Iterable[Lease]) -> list[Lease]:
        """Return what to give back in this turn."""
        if self.ending is None or self.at == NEVER:
            return []
        back = self._executor.take_back()
        if now < self.at:
            return back
        running = [lease for lease in held if lease not in back]
        if not self._interrupted:
            self._interrupted = True
            self.at = now + LAST_WORD
            for lease in running:
                self._executor.interrupt(lease, Shutdown)
            if running:
                logger.warning("%d tasks did not end in time and are interrupted", len(running))
            return back
        self.released_all = True
        return back + running
