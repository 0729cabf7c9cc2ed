"""Counters of jobs: answers to downloads, callbacks and deletions, each counted by the worker that has seen it.

A process adds up what it counts. It stores the sums every few seconds, when it has nothing to do, and at its end. One
that is killed loses what it has counted since. Sums whose answer is lost with a connection are sent again as the same
batch, which the store adds once.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import Counter, defaultdict
from time import monotonic
from typing import Any

from queueops import signals
from queueops.errors import QueueOpsError
from queueops.kinds.jobs.store import JobCalls
from queueops.model.ids import new_id
from queueops.redis.broker import get_role

EVERY_S = 5.0
"""Seconds between two times at which a busy process stores its sums."""
RESPONSE = "response."
"""Beginning of the counters of downloads: the status of an answer, or the kind of a failure follows."""
STORAGE = f"{RESPONSE}storage"
DELIVERED, DEAD = "callback.delivered", "callback.dead"
NO_SENDER, NO_TOPIC = "callback.no_sender", "callback.no_topic"
DELETED, NOT_DELETED = "file.deleted", "file.not_deleted"
BAD_PROXY = "proxy.refused"

logger = logging.getLogger("queueops")


def count(pool: str, *names: str, by: int = 1) -> None:
    """Count once for each name; outside of a pool nothing is counted."""
    if pool:
        _of_process.add(pool, names, by)


def flush(**_: Any) -> None:
    """Store what this process has counted. If the store does not answer, it is kept for the next time."""
    _of_process.flush()


class _Batch:
    """Sums on their way to a pool: sent again under the same number until the store has answered."""

    def __init__(self, number: int, counts: Counter[str]) -> None:
        self.number, self.counts = number, counts


class Sums:
    """What a process has counted and not stored yet."""

    def __init__(self) -> None:
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._by_pool: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._sent: dict[str, _Batch] = {}
        self._numbers: Counter[str] = Counter()
        self._process = ""
        self._due = 0.0
        self._is_ending = False

    def add(self, pool: str, names: tuple[str, ...], by: int) -> None:
        """Count ``by`` for each name; store the sums if that is due."""
        with self._lock:
            if not self._due:
                signals.worker_idle.connect(flush, dispatch_uid=__name__)
                signals.worker_stopping.connect(self._end)
                self._due = monotonic() + EVERY_S
            for name in names:
                self._by_pool[pool][name] += by
            is_due = self._is_ending or monotonic() >= self._due
        if is_due:
            self.flush()

    def flush(self) -> None:
        """Send what is there. While another thread does, its next turn sends the rest; at the end, this one waits."""
        if self._sending.acquire(blocking=self._is_ending):
            try:
                self._send()
            finally:
                self._sending.release()

    def _send(self) -> None:
        with self._lock:
            self._due = monotonic() + EVERY_S
            pools = [*dict.fromkeys((*self._sent, *self._by_pool))]
        for pool in pools:
            try:
                while batch := self._next(pool):
                    get_role(JobCalls).add_counts(pool, self._name(), batch.number, batch.counts)
                    del self._sent[pool]
            except QueueOpsError as error:
                logger.debug("Counters of jobs are stored later: %s", error)

    def _next(self, pool: str) -> _Batch | None:
        """The batch that has no answer yet, else a new one of what was counted since."""
        if pool not in self._sent:
            with self._lock:
                counts = self._by_pool.pop(pool, None)
            if not counts:
                return None
            self._numbers[pool] += 1
            self._sent[pool] = _Batch(self._numbers[pool], counts)
        return self._sent[pool]

    def _name(self) -> str:
        """The name of this process: a child by fork has its own."""
        if not self._process.startswith(f"{os.getpid()}-"):
            self._process = f"{os.getpid()}-{new_id()}"
        return self._process

    def _end(self, **_: Any) -> None:
        """The last tasks still run: each stores what it counts at once."""
        self._is_ending = True
        self.flush()


_of_process = Sums()
