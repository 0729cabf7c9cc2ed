"""Answers about the chunks of map-reduce tasks: data classes."""

from __future__ import annotations

from typing import ClassVar

from queueops.inspect.answer_base import Answer
from queueops.inspect.broken import Broken
from queueops.inspect.errors import Failure
from queueops.inspect.history import Attempt, LogLine

STATES = ("pending", "active", "errored", "done", "failed")
"""The states of chunks, in the order of counts."""


class ChunkFacts(Answer, frozen=True, kw_only=True):
    """Fields of a chunk that lists and its own page show."""

    TEXTS_OF_TASKS: ClassVar = ("reason",)

    number: int
    state: str  # empty when the chunk is gone
    attempt: int  # attempts that ended in an error or a timeout
    crashes: int
    begun_ms: int | None = None
    ended_ms: int | None = None
    due_ms: int | None = None  # time of the next attempt of an errored chunk
    worker: str = ""
    reason: str = ""
    dropped: bool = False  # dropped by an operator
    error: Failure | None = None
    data_size: int = 0
    result_size: int = 0


class ChunkRow(ChunkFacts, frozen=True, kw_only=True):
    """One row of a list of chunks."""

    data: str = ""  # a short, redacted preview


class ChunkPage(Answer, frozen=True, kw_only=True):
    """One page of chunks; `next` continues it, empty at the end."""

    rows: tuple[ChunkRow, ...]
    next: str = ""
    total: int = 0  # in the state, with any error
    partial: bool = False  # the budget ended before the page was full; `next` continues from there
    broken: tuple[Broken, ...] = ()  # its pool, when not all could be read


class SecondRun(Answer, frozen=True, kw_only=True):
    """A second run of the same chunk: the first run that succeeds counts."""

    state: str  # pending, active
    worker: str
    begun_ms: int | None


class ChunkDetail(ChunkFacts, frozen=True, kw_only=True):
    """One chunk in full."""

    task_id: str
    pool: str
    name: str
    task_state: str
    retries: int
    timeout_ms: int | None
    deadline_ms: int | None  # the end of its lease
    data_json: str
    result_json: str
    attempts: tuple[Attempt, ...] = ()
    log: tuple[LogLine, ...] = ()
    second: SecondRun | None = None
    of: int | None = None  # how many chunks the task has, once its map has ended
    allowed: tuple[str, ...] = ()


class Strip(Answer, frozen=True, kw_only=True):
    """Chunks `first` to `end` (not included) in columns of `width`: the counts of each column, ordered as STATES."""

    first: int
    end: int
    width: int
    columns: tuple[tuple[int, int, int, int, int], ...]
    attempts: tuple[int, ...] = ()  # failed attempts of each chunk, if a column is one chunk
    exact: bool = True  # False: a large set was sampled, the counts are estimates


class Straggler(Answer, frozen=True, kw_only=True):
    """One of the running chunks with the longest run so far."""

    number: int
    begun_ms: int
    worker: str
    attempt: int
    crashes: int


class ChunkError(Answer, frozen=True, kw_only=True):
    """Chunks with one kind of error, among the chunks that failed last or are in back-off."""

    failure: Failure
    failed: int
    errored: int
    number: int  # the number of one of them


class Skew(Answer, frozen=True, kw_only=True):
    """Run times of done chunks: percentiles of a sample, and the longest of all since the map."""

    sampled: int
    p50_ms: int
    p95_ms: int
    max_ms: int
    slowest: int  # number of the chunk that took `max_ms`


class ChunksView(Answer, frozen=True, kw_only=True):
    """All chunks of one task at a glance. `counts` are by state, `total` is their sum."""

    id: str
    pool: str
    name: str
    state: str
    phase: str  # `reduce`: no chunk is open any more
    now_ms: int
    counts: dict[str, int]
    total: int
    per_second: float  # chunks done per second, over the last minute
    left_s: float | None  # seconds at this rate, and after the last back-off; None: nothing moves, or none is claimed
    pace: tuple[int, ...]  # chunks done in equal intervals from `pace_from_ms` to `pace_to_ms`
    pace_from_ms: int | None
    pace_to_ms: int | None
    next_due_ms: int | None  # time at which the first errored chunk is tried again
    max_parallel: int | None
    retries: int
    tolerated: int | None  # number of chunks that may fail; None: any number
    let_go: int  # failed chunks that an operator has dropped: they do not count
    moving: bool  # chunks are being moved back to pending; until that has ended, workers claim none
    stragglers: tuple[Straggler, ...]
    skew: Skew | None
    errors: tuple[ChunkError, ...]
    looked: int  # number of errors that `errors` was made from
    strip: Strip
    begun: bool = True  # the map has begun: its chunks so far are stored
    mapped: bool = True  # the map has ended: the number of chunks is final
    paused: bool = False  # the task's lane is paused: its chunks wait too
    broken: tuple[Broken, ...] = ()  # its pool, when not all could be read

    @property
    def left_out(self) -> int:
        """Failed chunks that the task continues without: dropped by an operator, or at the end by its policy."""
        return self.counts["failed"] if self.phase else self.let_go

    @property
    def open(self) -> int:
        """The number of chunks that have not ended."""
        return self.total - self.counts["done"] - self.counts["failed"]
