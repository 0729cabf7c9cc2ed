"""Metrics buffer: counts outcomes and latencies by task name between two sends.

Only the thread that makes the loop's turn counts, so there is no lock. Counts are sent as fields ``ok|name``,
``err|name``, ``re|name`` (errors after which another attempt follows), ``ms|name`` (the sum of the run times),
``run|name|bucket`` and ``wait|name|bucket``, at most once a second. Buckets are those of ``queueops.model.histogram``.
The same counts by lane have an ``@`` before them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from queueops.model.contracts import Lease, Outcome, Settlement
from queueops.model.histogram import BUCKETS, bucket
from queueops.model.kinds import PARTS

FLUSH_EVERY = 1.0
MOST_LANES = 50
"""Lanes of one send; counts of further ones are sent under the lane ''."""
_SUCCESS = Outcome.SUCCESS
_FAILED = frozenset({Outcome.ERROR, Outcome.TIMEOUT, Outcome.CRASH})


class Counts:
    """The counts of one task name in one lane."""

    __slots__ = ("failed", "ran", "ran_ms", "retried", "succeeded", "waited")

    def __init__(self) -> None:
        self.succeeded = 0
        self.failed = 0
        self.retried = 0
        self.ran_ms = 0.0
        self.ran = [0] * BUCKETS
        self.waited = [0] * BUCKETS

    def fields(self, name: str, sign: str = "") -> Iterator[tuple[str, int]]:
        """The fields to send for these counts."""
        yield f"{sign}ok|{name}", self.succeeded
        yield f"{sign}err|{name}", self.failed
        yield f"{sign}re|{name}", self.retried
        yield f"{sign}ms|{name}", round(self.ran_ms)
        for word, histogram in (("run", self.ran), ("wait", self.waited)):
            for number, count in enumerate(histogram):
                if count:
                    yield f"{sign}{word}|{name}|{number}", count


class MetricsBuffer:
    """Counts of one pool."""

    __slots__ = ("_counts", "_returned", "due_at")

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], Counts] = {}  # by name and lane; parts of a task have no lane
        self._returned: dict[str, int] = {}
        self.due_at = 0.0  # when `due` can have something, at the earliest

    def add(self, lease: Lease, settlement: Settlement, run_ms: float) -> None:
        """Count one end of a task."""
        place = (lease.name, "" if lease.kind in PARTS else lease.lane)
        counts = self._counts.get(place)
        if counts is None:
            counts = self._counts[place] = Counts()
        outcome = settlement.outcome
        if outcome is _SUCCESS or settlement.expected:  # an expected error is no failure of the code
            counts.succeeded += 1
            counts.ran_ms += run_ms
        elif outcome in _FAILED:
            counts.failed += 1
            if settlement.delay_ms >= 0 and lease.attempt <= lease.retries:
                counts.retried += 1
            counts.ran_ms += run_ms
        counts.ran[bucket(run_ms)] += 1
        if lease.kind not in PARTS:  # parts wait for each other: their wait is not a measure of a task's wait
            counts.waited[bucket(lease.wait_ms)] += 1

    def due(self, now: float) -> dict[str, int] | None:
        """Take what is to be sent now; None if there is nothing or it is too early. The caller must send it."""
        if now < self.due_at or not self.waiting():
            return None
        taken, self._returned = self._returned, {}
        lanes: set[str] = set()
        for (name, lane), counts in self._counts.items():
            fields = [*counts.fields(name)]
            if lane:
                if len(lanes) < MOST_LANES:
                    lanes.add(lane)
                fields += counts.fields(lane if lane in lanes else "", "@")
            for field, count in fields:
                if count:
                    taken[field] = taken.get(field, 0) + count
        self._counts, self.due_at = {}, now + FLUSH_EVERY
        return taken

    def waiting(self) -> bool:
        """Whether anything waits to be sent."""
        return bool(self._counts or self._returned)

    def hurry(self) -> None:
        """Send with the next round trip, without waiting for the interval."""
        self.due_at = 0.0

    def give_back(self, taken: Mapping[str, int] | None) -> None:
        """Put back counts that could not be sent."""
        for field, count in (taken or {}).items():
            self._returned[field] = self._returned.get(field, 0) + count
