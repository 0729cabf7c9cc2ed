"""Ending thread: tells the kinds of ended records outside the loop of a worker.

A worker does this in a separate thread, so that a receiver that waits for a database does not delay the loop.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Sequence

from queueops.model import endings
from queueops.model.endings import Ended
from queueops.worker.execution import db_connections

MOST_WAITING = 10_000
"""Ended records that wait for their receivers in a worker process. Signals beyond that are dropped, and logged."""

logger = logging.getLogger("queueops.signals")


class SignalThread:
    """Sends signals one after the other, beside a worker process's loop. Its thread starts with the first signal."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[Sequence[Ended] | None] = queue.Queue(MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def send(self, ended: Sequence[Ended]) -> None:
        """Queue the signals for their receivers, if there are any; a full queue drops them."""
        if not endings.wanted():
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="queueops-signals", daemon=True)
                self._thread.start()
        try:
            self._waiting.put_nowait(ended)
        except queue.Full:
            ids = ", ".join(each.id for each in ended)
            logger.warning("The end signals of %s are not sent: the receivers are %d ends behind", ids, MOST_WAITING)

    def close(self, seconds: float) -> None:
        """Send the queued signals, for this many seconds at most."""
        if self._thread is None:
            return
        deadline = time.monotonic() + seconds
        try:
            self._waiting.put(None, timeout=seconds)
        except queue.Full:
            return
        self._thread.join(max(0.0, deadline - time.monotonic()))

    def _run(self) -> None:
        while (ended := self._waiting.get()) is not None:
            try:
                db_connections.clean()
                endings.send(ended)
            except BaseException:  # SystemExit of a receiver, too: later signals must still be sent
                logger.exception("The end signals of %s could not be sent", ", ".join(each.id for each in ended))
            finally:
                db_connections.clean()
        db_connections.close_all()
