"""Django signals of chains, groups and iterators: sent by the process whose call of the store ended them.

A worker sends them in a thread of its own, so that a receiver that waits for a database holds nothing up.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Sequence

from queueops import signals
from queueops.model.endings import Ended
from queueops.results.handle import TaskHandle
from queueops.tasks import registry
from queueops.worker.execution import db_connections

MOST_WAITING = 10_000
"""Ends that wait for their receivers in a worker process; of more the signals are dropped, and logged."""

logger = logging.getLogger("queueops.signals")


def send(ended: Sequence[Ended]) -> None:
    """Tell the receivers, in this thread. A receiver that raises is logged by Django and harms nothing."""
    for each in ended:
        signal = signals.OF_COMPOSITES.get(each.state)
        if signal is not None and signal.receivers:
            handle: TaskHandle[object] = TaskHandle(each.id, each.pool)
            signal.send_robust(
                sender=_sender(each), handle=handle, name=each.name, kind=each.kind, state=each.state, root=each.root
            )


def _sender(ended: Ended) -> object:
    """The task of its class; of a chain or a group without a class, or that is not known here, its kind."""
    handler = registry.handlers().get((ended.kind, ended.name))
    return getattr(handler, "task", ended.kind)


class SignalThread:
    """Sends signals one after the other beside the loop of a worker process. Its thread begins with the first."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[Sequence[Ended] | None] = queue.Queue(MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def send(self, ended: Sequence[Ended]) -> None:
        """Tell the receivers soon, if there are any."""
        if not any(signal.receivers for signal in signals.OF_COMPOSITES.values()):
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="queueops-signals", daemon=True)
                self._thread.start()
        try:
            self._waiting.put_nowait(ended)
        except queue.Full:
            ids = ", ".join(each.id for each in ended)
            logger.warning("The ends of %s are not signalled: receivers are behind by %d ends", ids, MOST_WAITING)

    def close(self, seconds: float) -> None:
        """Send what waits, for so many seconds at most."""
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
                send(ended)
            except BaseException:  # SystemExit of a receiver, too: the next ones are not its business
                logger.exception("The ends of %s could not be signalled", ", ".join(each.id for each in ended))
            finally:
                db_connections.clean()
        db_connections.close_all()
