"""Chunks of a map-reduce task: an overview, a page of chunks, or one in full.

However many chunks there are, a question reads a bounded number: long sets are counted and sampled, not walked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from queueops.errors import FilterError, advice
from queueops.inspect import pagination
from queueops.inspect.broken import broken_pools
from queueops.inspect.chunk_answers import (
    STATES,
    ChunkDetail,
    ChunkError,
    ChunkPage,
    ChunkRow,
    ChunksView,
    Skew,
    Straggler,
)
from queueops.inspect.chunk_rows import detail_of, read_scan
from queueops.inspect.chunkstrip import read_strip
from queueops.inspect.errors import Failure, read_failure
from queueops.inspect.redaction import redactor
from queueops.inspect.store import open_broker, open_reader
from queueops.model.ids import NAME
from queueops.model.states import State
from queueops.redis.chunkreader import ChunkReader
from queueops.redis.query_replies import may_be_id, maybe_whole, text, texts, whole

MOST_ROWS = 200
NUMBER = re.compile("[0-9]{1,15}")
LATEST_FIRST = ("done", "failed")
"""Lists of ended chunks begin with the latest; lists of running or waiting chunks with the oldest."""
ANY = 10_000_000
"""The number of chunks that may fail, where all of them may."""


def chunks_of(id: str, pool: str = "", *, first: int = 0, count: int = 0) -> ChunksView | None:
    """The overview of a task's chunks; the strip shows `count` (0 = all) from `first` on. None: no such task."""
    found = reader_of(id, pool)
    if found is None:
        return None
    place, reader = found
    summary = reader.summary()
    record, counts = texts(summary["record"]), dict(zip(STATES, summary["counts"], strict=True))
    if not record:
        return None
    now, first_done, last_done = (whole(summary[name]) for name in ("now", "first", "last"))
    total, is_paused = sum(counts.values()), summary["paused"] == 1
    open_ = total - counts["done"] - counts["failed"]
    per_second = _pace(whole(summary["minute"]), now, first_done)
    held_up = record.get("s") != State.AGGREGATING or "rd" in record or is_paused
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


def chunks(
    id: str, pool: str = "", *, state: str = "", error: str = "", after: str = "", limit: int = 50
) -> ChunkPage | None:
    """A page of a task's chunks: in one state, or all by number; `error` is a fingerprint. Raises FilterError."""
    if state and state not in STATES:
        raise FilterError(reason=f"there is no state {state!r} of chunks{advice(state, STATES)}")
    found = reader_of(id, pool)
    if found is None:
        return None
    place, reader = found
    index = state or "*"
    score, number = _begin(after, place, index)
    rows = max(1, min(limit, MOST_ROWS))
    latest = state in LATEST_FIRST
    page = reader.page(state, rows, after=(score, number), latest=latest, fingerprint=error[:100])
    walked = read_scan(page, redactor())
    return ChunkPage(
        rows=walked.rows,
        next="" if walked.ended else pagination.write({place: (index, walked.score, walked.number)}),
        total=walked.size,
        partial=not walked.ended and len(walked.rows) < rows,
        broken=broken_pools({place: reader.broken}),
    )


def chunks_named(id: str, numbers: Sequence[int], pool: str = "") -> tuple[ChunkRow, ...]:
    """These chunks, in this order, at most 200; a chunk that is gone has an empty state."""
    found = reader_of(id, pool)
    return () if found is None else read_scan(found[1].named(numbers[:MOST_ROWS]), redactor()).rows


def chunk(id: str, number: int, pool: str = "") -> ChunkDetail | None:
    """One chunk in full; None if it does not exist."""
    found = reader_of(id, pool)
    if found is None:
        return None
    single = found[1].single(number)
    return detail_of(id, found[0], number, single, redactor()) if single.record or single.lost else None


def tolerated(policy: str, total: int) -> int | None:
    """The number of chunks that a record's policy lets fail: a number, or a percentage of all; None for any number."""
    if policy.endswith("%"):
        return int(total * float(policy[:-1]) / 100)
    most = whole(policy)
    return None if most >= ANY else most


def _begin(after: str, place: str, index: str) -> tuple[str, str]:
    """Score and number of the last shown chunk; empty at the beginning. Raises FilterError."""
    if not after:
        return "", ""
    _, score, number = pagination.read(after, [place], [index]).get(place, ("", "", ""))
    if number and not NUMBER.fullmatch(number):
        raise pagination.broken()
    return score, number


def reader_of(id: str, pool: str) -> tuple[str, ChunkReader] | None:
    """The pool that holds the task; without a named pool all pools are searched. A named pool is not checked."""
    if not may_be_id(id) or (pool and not NAME.fullmatch(pool)):
        return None
    reader = open_reader()
    place = pool or reader.locate(reader.pools(), [id]).get(id)
    if place is None:
        reader.ensure_all()
    return None if place is None else (place, ChunkReader(open_broker(), place, id))


def _pace(done: int, now: int, first: int) -> float:
    """Chunks per second: those done over the last minute, or since the first one was done."""
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
