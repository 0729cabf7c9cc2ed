"""A map-reduce task whose chunks a test brings into the states that it wants, with the broker's own calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from queueops.model.contracts import DEFAULT_LANE, Lease, Outcome, Push, RoundTrip, Settlement
from queueops.redis.broker import RedisBroker

POOL = "default"
ERROR = json.dumps(
    {
        "fingerprint": "f00d",
        "type": "builtins.ValueError",
        "message": "no number: 'x'",
        "traceback": 'Traceback (most recent call last):\n  File "app/count.py", line 3, in process\n    int(word)\n',
    }
).encode()


class ChunkWork:
    """One task, alone in its pool or in a named lane, with one worker of the test's own."""

    def __init__(
        self, broker: RedisBroker, task_id: str = "count", pool: str = POOL, lane: str = DEFAULT_LANE, **own: str | int
    ) -> None:
        self.broker, self.id, self.pool = broker, task_id, pool
        self.lanes = () if lane == DEFAULT_LANE else (lane,)
        self.leases: dict[int, Lease] = {}
        fields = tuple({"xr": 0, "oc": "10000000", **own}.items())
        broker.push([Push(id=task_id, name="tests.count", kind="mapreduce", pool=pool, lane=lane, own=fields)])

    def map(self, data: Sequence[Any]) -> None:
        """Run the map: these are the chunks."""
        (lease,) = self.exchange(want=1).leases
        self.broker.begin_map(self.pool, self.id, lease.fence)
        for start in range(0, len(data), 500):
            part = [json.dumps(value).encode() for value in data[start : start + 500]]
            self.broker.split(self.pool, self.id, lease.fence, start, part)
        self.exchange(settle=[Settlement(self.id, lease.fence, Outcome.SUCCESS, str(len(data)).encode())])

    def claim(self, want: int) -> list[int]:
        """Claim chunks, in their order; their numbers."""
        leases = self.exchange(want=want).leases
        found = {int(lease.id.rpartition("#")[2]): lease for lease in leases}
        self.leases |= found
        return list(found)

    def done(self, numbers: Iterable[int], result: bytes = b"1") -> None:
        """These that were claimed end well."""
        self._settle(numbers, Outcome.SUCCESS, result)

    def fail(self, numbers: Iterable[int], *, delay_ms: int = -1, error: bytes = ERROR) -> None:
        """These end with an error; with a delay they are tried again."""
        fingerprint = json.loads(error)["fingerprint"]
        self._settle(numbers, Outcome.ERROR, error, delay_ms=delay_ms, fingerprint=fingerprint, title="ValueError: no")

    def exchange(self, **values: Any) -> Any:
        """One round trip of the worker."""
        return self.broker.exchange(self.pool, "w1", RoundTrip(lanes=self.lanes, **values))

    def _settle(self, numbers: Iterable[int], outcome: Outcome, value: bytes, **more: Any) -> None:
        ends = [Settlement(f"{self.id}#{n}", self.leases.pop(n).fence, outcome, value, **more) for n in numbers]
        for start in range(0, len(ends), 200):
            assert set(self.exchange(settle=ends[start : start + 200]).settled) <= {"OK"}
