"""Chunks of eager map-reduce tasks: all in memory, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from queueops.eager.broker import MAX_STARTS, EagerBroker
from queueops.eager.execution import SilentChannel, run
from queueops.eager.running import RunningTasks
from queueops.kinds.mapreduce.states import AGGREGATING, ChunkState
from queueops.model.contracts import Lease, Outcome, Settlement
from queueops.model.records import Record
from queueops.model.states import State

MAPREDUCE = "mapreduce"


class Chunk:
    """One chunk: its data, and its outcome."""

    def __init__(self, data: bytes) -> None:
        self.data, self.result, self.state = data, b"", ChunkState.PENDING
        self.attempts = 0
        self.error = Settlement("", 0, Outcome.ERROR)


class EagerChunks(EagerBroker):
    """The broker's methods for a map, a reduce and a status, and the step between map and reduce."""

    def __init__(self) -> None:
        super().__init__()
        self._chunks: dict[tuple[str, str], list[Chunk]] = {}

    def begin_map(self, pool: str, task_id: str, fence: int) -> int:
        """Delete the chunks of an earlier run; returns 0, the number of chunks that are kept."""
        self._chunks[pool, task_id] = []
        return 0

    def make_room(self, pool: str, task_id: str, fence: int, first: int = 0) -> None:
        """Delete the chunks from this number on."""
        del self._of(pool, task_id)[first:]

    def split(self, pool: str, task_id: str, fence: int, first: int, data: Sequence[bytes]) -> None:
        """Take the next chunks of a map."""
        self._chunks[pool, task_id] += [Chunk(each) for each in data]

    def written_stages(self, pool: str, task_id: str) -> Iterator[tuple[int, str]]:
        """No stages, because a map that begins keeps no chunks."""
        return iter(())

    def chunk_counts(self, pool: str, task_id: str) -> dict[str, int]:
        """The number of chunks of a task, by state."""
        states = [chunk.state for chunk in self._of(pool, task_id)]
        return {str(state): states.count(state) for state in ChunkState}

    def chunk_numbers(self, pool: str, task_id: str, state: str, start: int = 0, count: int = 500) -> list[int]:
        """The numbers of the chunks in a state."""
        found = [number for number, chunk in enumerate(self._of(pool, task_id)) if chunk.state == state]
        return found[start : start + count]

    def chunk_results(self, pool: str, task_id: str, count: int) -> Iterator[bytes]:
        """The results in the order of the map."""
        return (chunk.result for chunk in self._of(pool, task_id) if chunk.state == ChunkState.DONE)

    def chunk_result_pages(self, pool: str, task_id: str, count: int) -> Iterator[list[bytes]]:
        """The results in one page."""
        yield list(self.chunk_results(pool, task_id, count))

    def succeeded(self, record: Record) -> None:
        """Run the chunks after a map."""
        if record.kind == MAPREDUCE and not record.phase:
            self._process(record)
        super().succeeded(record)

    def resumes(self, record: Record) -> bool:
        """A retry continues where the task has failed."""
        return self._take_up(record) if record.kind == MAPREDUCE else super().resumes(record)

    def _take_up(self, record: Record) -> bool:
        """A retry continues at the reduce, or at the failed chunks; else it maps again. False: the task has ended."""
        chunks = self._of(record.pool, record.id)
        if record.phase:
            return True
        if record.own.get("chunks") != len(chunks):
            back_to_map(record)
            return True
        for chunk in chunks:
            if chunk.state == ChunkState.FAILED:
                chunk.state, chunk.attempts = ChunkState.PENDING, 0
        self._process(record)
        return record.state == State.PENDING

    def _of(self, pool: str, task_id: str) -> list[Chunk]:
        return self._chunks.get((pool, task_id), [])

    def _process(self, record: Record) -> None:
        """The step between the map and the reduce."""
        chunks = self._of(record.pool, record.id)
        record.state = AGGREGATING
        record.total = record.own["chunks"] = len(chunks)
        for number, chunk in enumerate(chunks):
            record.progress = number
            if chunk.state == ChunkState.PENDING:
                _run(record, number, chunk, self.running)
            if self.running.ends(record):
                return
            failed = [each for each in chunks if each.state == ChunkState.FAILED]
            if len(failed) > _tolerated(record.own.get("on_chunk_failure", ""), len(chunks)):
                record.state, record.reason = State.FAILED, f"chunk {number} failed"
                record.error, record.fingerprint = failed[-1].error.value, failed[-1].error.fingerprint
                return
        record.state, record.phase, record.attempt, record.result = State.PENDING, "reduce", 0, b""
        _limit_reduce(record)
        record.progress = record.total = len(chunks)


def back_to_map(record: Record) -> None:
    """Reset the task to its map, with the retries of the map."""
    own = record.own
    record.phase = ""
    own.pop("chunks", None)
    if "map_retries" in own:
        record.retries, record.retry = int(own["map_retries"]), own["map_retry"]


def _limit_reduce(record: Record) -> None:
    own = record.own
    own["map_retries"], own["map_retry"] = str(record.retries), record.retry
    record.retries = own.get("reduce_retries", record.retries)
    record.retry = own.get("reduce_retry", record.retry)


def _run(record: Record, number: int, chunk: Chunk, running: RunningTasks) -> None:
    for _ in range(MAX_STARTS):
        end = run(_lease(record, number, chunk), SilentChannel(), running)
        if end.outcome is Outcome.RELEASE and running.reason(record.pool, record.id) is not None:
            return
        if end.outcome is Outcome.SUCCESS:
            chunk.state, chunk.result = ChunkState.DONE, end.value
            return
        chunk.error = end
        chunk.attempts += end.outcome is not Outcome.RESTART or end.counted
        over = end.outcome is Outcome.CANCEL or end.delay_ms < 0 or chunk.attempts > record.own["chunk_retries"]
        if over:
            chunk.state = ChunkState.FAILED
            return
    raise AssertionError(f"chunk {number} of {record.id} restarts itself for ever")


def _lease(record: Record, number: int, chunk: Chunk) -> Lease:
    return Lease(
        id=f"{record.id}#{number}",
        fence=record.fence,
        name=record.name,
        kind="chunk",
        pool=record.pool,
        args=chunk.data,
        attempt=chunk.attempts + 1,
        retries=record.own["chunk_retries"],
        retry=record.own.get("chunk_retry", ""),
        timeout_ms=record.own.get("chunk_timeout"),
        parent_id=record.id,
        root=record.root or record.id,
        meta=record.meta,
    )


def _tolerated(policy: str, total: int) -> int:
    if policy.endswith("%"):
        return int(total * float(policy[:-1]) / 100)
    return int(policy or 0)
