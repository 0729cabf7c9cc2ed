"""Pool thread: makes the calls of one pool, where pools may be on several servers.

A server that does not answer then delays only its own pools.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

logger = logging.getLogger("queueops.worker")


class PoolThread:
    """Makes calls in order, and wakes the loop after each. A call keeps its own result; an error is logged."""

    def __init__(self, pool: str, ring: Callable[[], None]) -> None:
        self._pool = pool
        self._ring = ring
        self._calls: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def call(self, call: Callable[[], object]) -> None:
        """Add this call at the end of the queue."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"queueops-pool-{self._pool}", daemon=True)
            self._thread.start()
        self._calls.put(call)

    def close(self, seconds: float) -> None:
        """End the thread after the queued calls.

        It is abandoned if its server does not answer for this many seconds.
        """
        if self._thread is not None:
            self._calls.put(None)
            self._thread.join(seconds)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            self._make(call)
            self._make(self._ring)

    def _make(self, call: Callable[[], object]) -> None:
        try:
            call()
        except Exception:  # the thread survives it: other calls wait behind this one
            logger.exception("Pool %s: a call in its thread failed", self._pool)
