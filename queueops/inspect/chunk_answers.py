"""What the questions about a map-reduce task's chunks answer with."""

from __future__ import annotations

from typing import ClassVar

from queueops.inspect.answer_base import Answer, Failure
from queueops.inspect.broken import Broken
from queueops.inspect.models import Attempt, LogLine

STATES = ("pending", "active", "errored", "done", "failed")
"""The states of chunks, in the order in which counts of them are given."""


class ChunkFacts(Answer, frozen=True, kw_only=True):
    """What a list and a chunk's own page both show."""

    TEXTS_OF_TASKS: ClassVar = ("reason",)

    number: int
    state: str  # empty when the chunk is gone
    attempt: int  # attempts that ended in an error or a timeout
    crashes: int
    begun_ms: int | None = None
    ended_ms: int | None = None
    due_ms: int | None = None  # when an errored one is tried again
    worker: str = ""
    reason: str = ""
    dropped: bool = False  # by an operator
    error: Failure | None = None
    data_size: int = 0
    result_size: int = 0


class ChunkRow(ChunkFacts, frozen=True, kw_only=True):
    """One line of a list of chunks."""

    data: str = ""  # a short, redacted preview


class ChunkPage(Answer, frozen=True, kw_only=True):
    """A page of chunks; `next` continues it, empty at the end."""

    rows: tuple[ChunkRow, ...]
    next: str = ""
    total: int = 0  # of the state, whatever error was asked for
    partial: bool = False  # the budget ended before the page was full; `next` goes on from there
    broken: tuple[Broken, ...] = ()  # its pool, when not all could be read


class SecondRun(Answer, frozen=True, kw_only=True):
    """A run of the same chunk beside the first: whichever ends well first counts."""

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
    """Chunks `first` to `end` (not included) in columns of `width`: how many of each are in which of STATES."""

    first: int
    end: int
    width: int
    columns: tuple[tuple[int, int, int, int, int], ...]
    attempts: tuple[int, ...] = ()  # failed ones of each chunk, where a column is one chunk
    exact: bool = True  # False: a large set was sampled, the counts are estimates


class Straggler(Answer, frozen=True, kw_only=True):
    """A chunk that runs now, one of those that have run for longest."""

    number: int
    begun_ms: int
    worker: str
    attempt: int
    crashes: int


class ChunkError(Answer, frozen=True, kw_only=True):
    """Chunks of one kind of error, among the last ones that failed or are backing off."""

    failure: Failure
    failed: int
    errored: int
    number: int  # one of them


class Skew(Answer, frozen=True, kw_only=True):
    """How long chunks that are done have run: the percentiles of a sample, the longest of all since the map."""

    sampled: int
    p50_ms: int
    p95_ms: int
    max_ms: int
    slowest: int  # the number of the one that took `max_ms`


class ChunksView(Answer, frozen=True, kw_only=True):
    """All chunks of one task at a glance. `counts` are by state, `total` is their sum."""

    id: str
    pool: str
    name: str
    state: str
    phase: str  # reduce: the chunks are through
    now_ms: int
    counts: dict[str, int]
    total: int
    per_second: float  # done, over the last minute
    left_s: float | None  # at this pace, and once back-offs end; None when nothing moves, or no worker claims
    pace: tuple[int, ...]  # done in equal steps from `pace_from_ms` to `pace_to_ms`
    pace_from_ms: int | None
    pace_to_ms: int | None
    next_due_ms: int | None  # when the first errored one is tried again
    max_parallel: int | None
    retries: int
    tolerated: int | None  # how many may fail; None: any number
    let_go: int  # failed ones that an operator has dropped: they do not count
    moving: bool  # chunks are being moved back to pending; until that has ended none is claimed
    stragglers: tuple[Straggler, ...]
    skew: Skew | None
    errors: tuple[ChunkError, ...]
    looked: int  # errors that `errors` was made from
    strip: Strip
    begun: bool = True  # its map has: what it wrote so far is there
    mapped: bool = True  # its map has ended: there are no more chunks than these
    paused: bool = False  # the task's lane is: its chunks wait, too
    broken: tuple[Broken, ...] = ()  # its pool, when not all could be read

    @property
    def left_out(self) -> int:
        """Failed chunks that the task goes without: an operator dropped them, or its policy did at the end."""
        return self.counts["failed"] if self.phase else self.let_go

    @property
    def open(self) -> int:
        """How many have not come to their end."""
        return self.total - self.counts["done"] - self.counts["failed"]
