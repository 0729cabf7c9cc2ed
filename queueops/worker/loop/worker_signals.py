"""Django signals of a worker process: sends `worker_started`, `worker_idle` and `worker_stopping`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from django.dispatch import Signal

from queueops import signals
from queueops.worker.execution import db_connections


class WorkerSignals:
    """Sends the signals.

    The receivers of `worker_started` run in the main thread before the loop's first turn. They return before the
    first task is claimed. Other receivers run in threads beside the loop, which continues to renew leases.
    """

    def __init__(self, worker: str, pools: Sequence[str]) -> None:
        self._worker = worker
        self._pools = tuple(pools)
        self._finished = 0
        self._idle: threading.Thread | None = None
        self._stopping: threading.Thread | None = None

    def start(self) -> None:
        """Send `worker_started`."""
        if signals.worker_started.receivers:
            self._send(signals.worker_started)

    def look(self, finished: int, is_dry: Callable[[], bool]) -> None:
        """Send `worker_idle` if tasks have ended since the previous one, and nothing is left."""
        if finished == self._finished or not is_dry():
            return
        if self._idle is not None and self._idle.is_alive():
            return  # the next turn looks again
        self._finished = finished
        self._idle = self._beside(signals.worker_idle, "queueops-idle")

    def stop(self) -> None:
        """Send `worker_stopping`, once."""
        if self._stopping is None and signals.worker_stopping.receivers:
            self._stopping = self._beside(signals.worker_stopping, "queueops-stopping")

    def close(self, idle_s: float, stopping_s: float) -> None:
        """Give the receivers of `worker_idle` and of `worker_stopping` their seconds to return."""
        for thread, seconds in ((self._idle, idle_s), (self._stopping, stopping_s)):
            if thread is not None:
                thread.join(seconds)

    def _beside(self, signal: Signal, thread_name: str) -> threading.Thread:
        thread = threading.Thread(target=self._send, args=(signal,), name=thread_name, daemon=True)
        thread.start()
        return thread

    def _send(self, signal: Signal) -> None:
        try:
            signals.tell_of_worker(signal, self._worker, self._pools)
        finally:
            db_connections.close_all()
