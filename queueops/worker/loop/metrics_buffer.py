"""Metrics buffer: counts outcomes and latencies by task name between two sends.

Only the thread that makes the loop's turn counts, so there is no lock. Counts are sent as fields ``ok|name``,
``err|name``, ``ms|name`` (the sum of the run times of both), ``run|name|bucket`` and ``wait|name|bucket``, at most once
a second. Buckets are those of ``queueops.model.histogram``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from queueops.model.contracts import Lease, Outcome, Settlement
from queueops.model.histogram import BUCKETS, bucket

FLUSH_EVERY = 1.0
_SUCCESS = Outcome.SUCCESS
_FAILED = frozenset({Outcome.ERROR, Outcome.TIMEOUT, Outcome.CRASH})


class Counts:
    """The counts of one task name."""

    __slots__ = ("failed", "ran", "ran_ms", "succeeded", "waited")

    def __init__(self) -> None:
        self.succeeded = 0
        self.failed = 0
        self.ran_ms = 0.0
        self.ran = [0] * BUCKETS
        self.waited = [0] * BUCKETS

    def fields(self, name: str) -> Iterator[tuple[str, int]]:
        """The fields to send for these counts."""
        yield f"ok|{name}", self.succeeded
        yield f"err|{name}", self.failed
        yield f"ms|{name}", round(self.ran_ms)
        for word, histogram in (("run", self.ran), ("wait", self.waited)):
            for number, count in enumerate(histogram):
                yield f"{word}|{name}|{number}", count


class MetricsBuffer:
    """Counts of one pool."""

    __slots__ = ("_counts", "_returned", "_sent_at")

    def __init__(self) -> None:
        self._counts: dict[str, Counts] = {}
        self._returned: dict[str, int] = {}
        self._sent_at = 0.0

    def add(self, lease: Lease, settlement: Settlement, run_ms: float) -> None:
        """Count one end of a task."""
        counts = self._counts.get(lease.name)
        if counts is None:
            counts = self._counts[lease.name] = Counts()
        outcome = settlement.outcome
        if outcome is _SUCCESS:
            counts.succeeded += 1
            counts.ran_ms += run_ms
        elif outcome in _FAILED:
            counts.failed += 1
            counts.ran_ms += run_ms
        counts.ran[bucket(run_ms)] += 1
        if lease.kind != "chunk":  # chunks wait for each other: their wait is not a measure of a task's wait
            counts.waited[bucket(lease.wait_ms)] += 1

    def due(self, now: float) -> dict[str, int] | None:
        """Take what is to be sent now; None if there is nothing or it is too early. The caller must send it."""
        if now - self._sent_at < FLUSH_EVERY or not self.waiting():
            return None
        taken, self._returned = self._returned, {}
        for name, counts in self._counts.items():
            for field, count in counts.fields(name):
                if count:
                    taken[field] = taken.get(field, 0) + count
        self._counts, self._sent_at = {}, now
        return taken

    def waiting(self) -> bool:
        """Whether anything waits to be sent."""
        return bool(self._counts or self._returned)

    def hurry(self) -> None:
        """Send with the next round trip, without waiting for the interval."""
        self._sent_at = 0.0

    def give_back(self, taken: Mapping[str, int] | None) -> None:
        """Put back counts that could not be sent."""
        for field, count in (taken or {}).items():
            self._returned[field] = self._returned.get(field, 0) + count
