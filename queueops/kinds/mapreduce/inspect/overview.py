"""Overview of the chunks of one task: their counts, pace, stragglers, errors and run times.

Its reads are bounded, as in `chunks`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.errors import Failure, read_failure
from queueops.kinds.mapreduce.inspect.pages import reader_of
from queueops.kinds.mapreduce.inspect.strip import Strip, read_strip
from queueops.kinds.mapreduce.states import AGGREGATING, CHUNK_STATES
from queueops.model.rates import shown
from queueops.redis.query_replies import maybe_real, maybe_whole, text, texts, whole

ANY = 10_000_000
"""The number of chunks that may fail, where all of them may."""


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
    per_worker: int | None = None  # chunks of the task at once in one worker process
    key: str  # for which its limits hold; `*`: all tasks of the class. Empty: it has no such limits
    key_limit: int | None  # chunks of this key at once
    key_rate: str  # how many of them begin, such as `10/m`; may be empty
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


def chunks_of(id: str, pool: str = "", *, first: int = 0, count: int = 0) -> ChunksView | None:
    """The overview of a task's chunks; the strip shows `count` (0 = all) from `first` on. None: no such task."""
    found = reader_of(id, pool)
    if found is None:
        return None
    place, reader = found
    summary = reader.summary()
    record, counts = texts(summary["record"]), dict(zip(CHUNK_STATES, summary["counts"], strict=True))
    if not record:
        return None
    now, first_done, last_done = (whole(summary[name]) for name in ("now", "first", "last"))
    total, is_paused = sum(counts.values()), summary["paused"] == 1
    open_ = total - counts["done"] - counts["failed"]
    per_second = _pace(whole(summary["minute"]), now, first_done)
    held_up = record.get("s") != AGGREGATING or "rd" in record or is_paused
    waits_s = max(0, whole(summary["late"]) - now) / 1000
    return ChunksView(
        id=id,
        pool=place,
        name=record.get("n", ""),
        state=record.get("s", ""),
        phase=record.get("ph", ""),
        now_ms=now,
        counts=counts,
        total=total,
        per_second=per_second,
        left_s=None if open_ and held_up else _left(open_, counts["errored"], per_second, waits_s),
        pace=tuple(summary["pace"]),
        pace_from_ms=first_done or None,
        pace_to_ms=(now if open_ else last_done) or None,
        next_due_ms=whole(summary["due"]) or None,
        max_parallel=maybe_whole(record.get("mx")),
        per_worker=maybe_whole(record.get("xw")),
        key=record.get("ck", ""),
        key_limit=maybe_whole(record.get("cl")),
        key_rate=shown(rate) if (rate := maybe_real(record.get("cq"))) else "",
        retries=whole(record.get("xr")),
        tolerated=tolerated(record.get("oc", ""), whole(record.get("cn")) or total),
        let_go=whole(record.get("xd")),
        moving="rd" in record,
        stragglers=tuple(_stragglers(summary["active"])),
        skew=_skew(summary["runs"], record),
        broken=broken_pools({place: reader.broken}),
        errors=tuple(_error(*row) for row in summary["errors"]),
        looked=whole(summary["looked"]),
        strip=read_strip(reader, total, first, count),
        begun="cn" in record or "mw" in record,
        mapped="cn" in record,
        paused=is_paused,
    )


def counts_of(id: str, pool: str = "") -> tuple[str, dict[str, int]] | None:
    """The pool of a task, and the number of its chunks in each state, without their figures. None: no such task."""
    found = reader_of(id, pool)
    counts = None if found is None else found[1].counts()
    return None if found is None or counts is None else (found[0], counts)


def tolerated(policy: str, total: int) -> int | None:
    """The number of chunks that a record's policy lets fail, or None for any number. A percentage counts all chunks."""
    if policy.endswith("%"):
        return int(total * float(policy[:-1]) / 100)
    most = whole(policy)
    return None if most >= ANY else most


def _pace(done: int, now: int, first: int) -> float:
    """Chunks done per second over the last minute, or since the first chunk was done."""
    since = min(60_000, now - first) if first else 0
    return done * 1000 / max(1000, since)


def _left(open_: int, errored: int, per_second: float, waits_s: float) -> float | None:
    """Seconds until all chunks have ended, at least until the last back-off ends; None if no worker claims any."""
    if not open_:
        return 0.0
    if open_ > errored and not per_second:
        return None
    return max(waits_s, open_ / per_second if per_second else 0.0)


def _stragglers(flat: Sequence[bytes]) -> Iterator[Straggler]:
    for number, begun, worker, attempts, crashes in zip(*(flat[place::5] for place in range(5)), strict=True):
        yield Straggler(
            number=whole(number),
            begun_ms=whole(begun),
            worker=text(worker),
            attempt=whole(attempts),
            crashes=whole(crashes),
        )


def _skew(flat: Sequence[bytes], record: Mapping[str, str]) -> Skew | None:
    """From the number, start and end of some chunks that are done."""
    numbers, begun, ended = ([whole(value) for value in flat[place::3]] for place in range(3))
    runs = sorted((max(0, end - begin), number) for number, begin, end in zip(numbers, begun, ended, strict=True))
    if not runs:
        return None
    longest, slowest = max(runs[-1], _longest(record))
    middle, most = (runs[min(len(runs) - 1, int(len(runs) * share))][0] for share in (0.5, 0.95))
    return Skew(sampled=len(runs), p50_ms=middle, p95_ms=most, max_ms=longest, slowest=slowest)


def _longest(record: Mapping[str, str]) -> tuple[int, int]:
    """The longest run since the map, and the number of its chunk; the sample may have missed it."""
    return whole(record.get("xm")), whole(record.get("xn"))


def _error(_fingerprint: bytes, failed: int, errored: int, number: bytes, error: bytes, reason: bytes) -> ChunkError:
    """The examined chunks that failed with one kind of error."""
    failure = read_failure(error) or Failure(message=text(reason))
    return ChunkError(failure=failure, failed=failed, errored=errored, number=whole(number))
