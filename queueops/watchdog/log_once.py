"""Log throttle: a fault of a pool is logged when it begins or changes, and then every ten minutes."""

from __future__ import annotations

import logging
import time

from queueops.errors import QueueOpsError

AGAIN_AFTER_S = 600.0
"""Seconds after which a lasting fault is logged again."""

logger = logging.getLogger("queueops.watchdog")


class LogOnce:
    """By pool and subject: what was logged about it, and when."""

    def __init__(self) -> None:
        """Start without any faults."""
        self._said: dict[tuple[str, str], tuple[str, float]] = {}

    def error(self, pool: str, doing: str, error: Exception) -> bool:
        """Log an error that stopped something; an unexpected one with its traceback. Returns whether it was logged."""
        is_new = self._is_new(pool, doing, str(error))
        if is_new:
            trace = None if isinstance(error, QueueOpsError) else error
            logger.error("the watchdog could not %s pool %s: %s", doing, pool, error, exc_info=trace)
        return is_new

    def key(self, pool: str, key: str) -> None:
        """Log a key that could not be written to."""
        text = f"the key {key} holds something else than it should, and is written to no more until it is deleted"
        if self._is_new(pool, f"write {key}", text):
            logger.error("pool %s: %s", pool, text)

    def fault(self, pool: str, name: str, text: str) -> None:
        """Log what the consistency check found and did not repair."""
        if self._is_new(pool, name, text):
            logger.error("pool %s: %s", pool, text)

    def well(self, pool: str, doing: str) -> bool:
        """Log that a stopped activity continues, if its stop was logged. Returns whether it was."""
        was_told = self._said.pop((pool, doing), None) is not None
        if was_told:
            logger.info("the watchdog can %s pool %s again", doing, pool)
        return was_told

    def _is_new(self, pool: str, subject: str, text: str) -> bool:
        said, at = self._said.get((pool, subject), ("", 0.0))
        now = time.monotonic()
        if said == text and now - at < AGAIN_AFTER_S:
            return False
        self._said[pool, subject] = (text, now)
        return True
