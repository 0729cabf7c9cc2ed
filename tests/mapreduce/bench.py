"""What a test says to the kernel about chunks, in few words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from queueops.kinds.mapreduce.states import CHUNK_STATES
from queueops.model.contracts import Lease, Outcome, Settlement
from queueops.redis.broker import RedisBroker
from tests.kernel.desk import POOL, Desk
from tests.kernel.picture import Picture
from tests.mapreduce import invariants


class ChunkDesk(Desk):
    """A desk that knows map-reduce tasks; the chunks whose record the test destroyed."""

    def __init__(self, broker: RedisBroker) -> None:
        super().__init__(broker)
        self.lost: set[str] = set()

    def check(self) -> Picture:
        """Assert all invariants, of tasks and of chunks."""
        known = {"broken": self.broken | self.lost, "haunted": self.haunted | self.broken, "lowered": self.lowered}
        return invariants.check(self.broker, POOL, lost=self.lost, **known)

    # Producing and mapping

    def push_mapped(self, task_id: str = "m", chunks: int | Sequence[bytes] = 3, **own: Any) -> None:
        """A task that has mapped so many chunks: it gathers."""
        self.push_mapreduce(task_id, **own)
        self.map(task_id, chunks)

    def push_several(self, *ids: str, chunks: int, **own: Any) -> None:
        """Several tasks that gather, none of whose chunks was claimed."""
        for task_id in ids:
            self.push_mapreduce(task_id, **own)
        leases = self.claim(len(ids))
        assert [lease.id for lease in leases] == list(ids)
        for lease in leases:
            self.write(lease, chunks)
        for lease in leases:
            assert self.settle(lease, value=b"%d" % chunks) == "OK"

    def push_mapreduce(self, task_id: str = "m", *, name: str = "tests.count", **own: Any) -> None:
        """A map-reduce task that waits for its map; chunks may be retried twice, and none may fail."""
        short = {"max_parallel": "mx", "per_worker": "xw", "drop": "oc", "chunk_retries": "xr"}
        values = {"xr": 2} | {
            short.get(field, field): value for field, value in own.items() if len(short.get(field, field)) == 2
        }
        push = {field: value for field, value in own.items() if len(short.get(field, field)) != 2}
        self.push(task_id, name=name, kind="mapreduce", own=tuple(values.items()), **push)

    def map(self, task_id: str, chunks: int | Sequence[bytes], worker: str = "w1") -> None:
        """Claim the map and run it to its end."""
        lease = self.lease(worker)
        assert lease.id == task_id
        self.write(lease, chunks)
        size = chunks if isinstance(chunks, int) else len(chunks)
        assert self.settle(lease, value=str(size).encode(), worker=worker) == "OK"

    def write(self, lease: Lease, chunks: int | Sequence[bytes]) -> None:
        """What a map writes."""
        data = [b"%d" % number for number in range(chunks)] if isinstance(chunks, int) else chunks
        self.broker.make_room(POOL, lease.id, lease.fence)
        for start in range(0, len(data), 500):
            self.broker.split(POOL, lease.id, lease.fence, start, data[start : start + 500])

    # Processing

    def end_all(self, leases: Iterable[Lease], worker: str = "w1") -> None:
        """All these end well."""
        ends = [Settlement(lease.id, lease.fence, Outcome.SUCCESS, b"%d" % number_of(lease)) for lease in leases]
        for start in range(0, len(ends), 200):
            assert set(self.exchange(worker, settle=ends[start : start + 200]).settled) <= {"OK"}

    def fail(self, lease: Lease, *, delay_ms: int = -1, worker: str = "w1") -> str:
        """It ends with an error; with a delay it is tried again, if it may."""
        return self.settle(
            lease, Outcome.ERROR, b'{"type":"E"}', worker, delay_ms=delay_ms, fingerprint="f1", title="E"
        )

    def process(self, task_id: str = "m", worker: str = "w1") -> None:
        """Run all of its chunks that are ready, well, and leave its reduce to others."""
        while (ready := self.counts(task_id)[0]) and (leases := self.claim(min(100, ready), worker)):
            self.end_all(leases, worker)

    def reduce(self, task_id: str = "m") -> None:
        """Run its reduce, well."""
        lease = self.lease()
        assert (lease.id, lease.phase) == (task_id, "reduce")
        assert self.settle(lease, value=b"1") == "OK"

    # Mending

    def mend(self, verb: str, *numbers: int, task_id: str = "m", **values: Any) -> int:
        """How many were changed."""
        return self.broker.mend_chunks(POOL, task_id, verb, numbers, **values).changed

    def restart(self, stage: str, task_id: str = "m", **values: Any) -> str:
        """Begin again at a stage; the word."""
        return self.broker.restart_from(POOL, task_id, stage, **values).word

    # Looking

    def counts(self, task_id: str = "m") -> tuple[int, ...]:
        """How many are pending, active, errored, done, failed."""
        found = self.broker.chunk_counts(POOL, task_id)
        return tuple(found[state] for state in CHUNK_STATES)

    def chunk(self, number: int | str, task_id: str = "m") -> dict[str, str]:
        """The record of a chunk; empty when there is none."""
        found = self.client.hgetall(f"{self.keys.task(task_id)}#{number}")
        return {field.decode(): value.decode("utf-8", "replace") for field, value in found.items()}

    def results(self, task_id: str = "m") -> list[bytes]:
        """What the reduce would get."""
        return list(self.broker.chunk_results(POOL, task_id, sum(self.counts(task_id))))

    def field(self, name: str, task_id: str = "m") -> str:
        """A field of the task's record."""
        found = self.client.hget(self.keys.task(task_id), name)
        return found.decode() if found else ""

    def chunk_keys(self, task_id: str = "m") -> int:
        """How many keys its chunks have."""
        names = [key.decode().partition(f"task:{task_id}#")[2] for key in self.client.scan_iter(f"*task:{task_id}#*")]
        return sum(name.startswith("chunks:") or name[:1].isdigit() for name in names)


def number_of(lease: Lease) -> int:
    """The number of a chunk, or of the one whose second run this is."""
    return int(lease.id.partition("#")[2].removesuffix("~"))


def numbers_of(leases: Iterable[Lease]) -> list[int]:
    """Those of several."""
    return [number_of(lease) for lease in leases]
