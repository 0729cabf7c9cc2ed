"""Pause of a worker process whose executor cannot begin tasks: it claims none, then one a second until one begins."""

from __future__ import annotations

import logging
import threading
import time

FIRST_S, LONGEST_S, MOST_DOUBLED = 1.0, 30.0, 20
"""The first pause, which doubles with each failure in a row, the longest one, and how often a pause doubles at most."""
PROBE_S = 1.0
"""Seconds between two claims of one task each, until one has begun."""
TOLD_FROM, TOLD_S = 3, 120.0
"""The heartbeat tells of the failures from this number in a row on, and for so many seconds after the latest one.

It is longer than a pause. So it ends when the queue is empty, or when a long task has begun.
"""

logger = logging.getLogger("queueops.worker")
_monotonic = time.monotonic


class ExecutorPause:
    """Failures of an executor in a row. Its methods may be called in any thread; times are of the monotonic clock.

    The loop asks the attributes in each turn, and the methods only while the executor fails.
    """

    def __init__(self) -> None:
        self.failures = 0
        """How many starts in a row have failed."""
        self.until = 0.0
        """No task is claimed before this moment."""
        self.failed_until = 0.0
        """Tasks that have not begun before this moment go back: they were claimed before the latest failure."""
        self._lock = threading.Lock()
        self._failed_at = 0.0
        self._reason = ""

    def failed(self, began: float, reason: str) -> None:
        """A start could not begin its task. One that began before the latest failure does not lengthen the pause."""
        with self._lock:
            now, self._reason = _monotonic(), reason
            if self.failures and began <= self._failed_at:
                return
            seconds = min(LONGEST_S, FIRST_S * 2.0 ** min(self.failures, MOST_DOUBLED))
            self.failures, self._failed_at = self.failures + 1, now
            self.until = self.failed_until = now + seconds
        logger.warning("The executor is not available, so this process claims no task for %g s: %s", seconds, reason)

    def worked(self, began: float) -> None:
        """A start has begun its task. One that is older than the latest failure says nothing."""
        if self.failures and began > self._failed_at:
            with self._lock:
                failures, self.failures = self.failures, 0
                self.until = self.failed_until = 0.0
            if failures:
                logger.info("The executor is available again after %d failures in a row", failures)

    def claimed(self, now: float) -> None:
        """Tasks were claimed while the executor fails: no other one for a moment."""
        with self._lock:
            self.until = max(self.until, now + PROBE_S) if self.failures else 0.0

    def room(self) -> int:
        """How many tasks to claim at most: none in a pause, one after it."""
        return 0 if _monotonic() < self.until else 1

    def told(self) -> str:
        """Why no task begins, for the heartbeat; empty while tasks begin, and after few or old failures."""
        with self._lock:
            is_told = self.failures >= TOLD_FROM and _monotonic() - self._failed_at < TOLD_S
            return self._reason if is_told else ""
