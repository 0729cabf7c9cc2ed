"""Idle signal: tells the receivers of `worker_idle` each time a worker process has nothing left to do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from queueops import signals
from queueops.worker import hygiene


class IdleSignal:
    """Sends the signal in a thread of its own: a receiver that takes long must not hold up the loop."""

    def __init__(self, worker: str, pools: Sequence[str]) -> None:
        self._worker = worker
        self._pools = tuple(pools)
        self._told = 0
        self._thread: threading.Thread | None = None

    def look(self, finished: int, is_dry: Callable[[], bool]) -> None:
        """Send it when tasks have ended since the last time, and nothing is left."""
        if finished == self._told or not signals.worker_idle.receivers or not is_dry():
            return
        if self._thread is not None and self._thread.is_alive():
            return  # the next turn looks again
        self._told = finished
        self._thread = threading.Thread(target=self._send, name="queueops-idle", daemon=True)
        self._thread.start()

    def close(self, seconds: float) -> None:
        """Give the receivers so many seconds to come to their end."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _send(self) -> None:
        try:
            signals.tell_of_worker(signals.worker_idle, self._worker, self._pools)
        finally:
            hygiene.close_all()
