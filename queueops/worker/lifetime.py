"""Lifetime signals: `worker_started` and `worker_stopping`, each sent once by a worker process."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from queueops import signals
from queueops.worker import hygiene


class Lifetime:
    """Tells the receivers of the beginning before the first task, and of the end in a thread beside the last ones."""

    def __init__(self, worker: str, pools: Sequence[str]) -> None:
        self._worker = worker
        self._pools = tuple(pools)
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Send `worker_started`; the process takes no task before its receivers have ended."""
        if signals.worker_started.receivers:
            signals.tell_of_worker(signals.worker_started, self._worker, self._pools)
            hygiene.close_all()

    def stop(self) -> None:
        """Send `worker_stopping`, once: its receivers must not hold up the loop, which still renews leases."""
        if self._thread is None and signals.worker_stopping.receivers:
            self._thread = threading.Thread(target=self._tell, name="queueops-stopping", daemon=True)
            self._thread.start()

    def close(self, seconds: float) -> None:
        """Give the receivers so many seconds to come to their end."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _tell(self) -> None:
        try:
            signals.tell_of_worker(signals.worker_stopping, self._worker, self._pools)
        finally:
            hygiene.close_all()
