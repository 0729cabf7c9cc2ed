"""Chunks of a map-reduce task: an overview, a page of chunks, or one in full.

However many chunks there are, a question reads a bounded number: long sets are counted and sampled, not walked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from queueops.errors import FilterError, advice
from queueops.inspect import pagination
from queueops.inspect.answer_base import Failure
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
from queueops.inspect.chunk_rows import detail_of, row_of
from queueops.inspect.chunkstrip import read_strip
from queueops.inspect.errors import read_failure
from queueops.inspect.redaction import redactor
from queueops.inspect.store import open_broker, open_reader
from queueops.model.ids import NAME
from queueops.model.states import State
from queueops.redis.chunkreader import ChunkReader, Kind, Running, Summary
from queueops.redis.query_replies import may_be_id, maybe_whole, whole

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
    record, counts, total = summary.record, summary.counts, sum(summary.counts.values())
    if not record:
        return None
    open_ = total - counts["done"] - counts["failed"]
    per_second = _pace(summary)
    return ChunksView(
        id=id,
        pool=place,
        name=record.get("n", ""),
        state=record.get("s", ""),
        phase=record.get("ph", ""),
        now_ms=summary.now,
        counts=counts,
        total=total,
        per_second=per_second,
        left_s=_left(summary, open_, per_second),
        pace=tuple(summary.pace),
        pace_from_ms=summary.first or None,
        pace_to_ms=(summary.now if open_ else summary.last) or None,
        next_due_ms=summary.due or None,
        max_parallel=maybe_whole(record.get("mx")),
        retries=whole(record.get("xr")),
        tolerated=tolerated(record.get("oc", ""), whole(record.get("cn")) or total),
        let_go=whole(record.get("xd")),
        moving="rd" in record,
        stragglers=tuple(_straggler(row) for row in summary.active),
        skew=_skew(summary),
        broken=broken_pools({place: reader.broken}),
        errors=tuple(_kind(kind) for kind in summary.kinds),
        looked=summary.looked,
        strip=read_strip(reader, total, first, count),
        begun="cn" in record or "mw" in record,
        mapped="cn" in record,
        paused=summary.paused,
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
    walked = reader.page(state, rows, after=(score, number), latest=latest, fingerprint=error[:100])
    hide = redactor()
    return ChunkPage(
        rows=tuple(row_of(row, hide) for row in walked.rows),
        next="" if walked.ended else pagination.write({place: (index, walked.score, walked.number)}),
        total=walked.size,
        partial=not walked.ended and len(walked.rows) < rows,
        broken=broken_pools({place: reader.broken}),
    )


def chunks_named(id: str, numbers: Sequence[int], pool: str = "") -> tuple[ChunkRow, ...]:
    """These chunks, in this order, at most 200; a chunk that is gone has an empty state."""
    found = reader_of(id, pool)
    hide = redactor()
    return () if found is None else tuple(row_of(row, hide) for row in found[1].named(numbers[:MOST_ROWS]))


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


def _pace(summary: Summary) -> float:
    """Chunks per second over the last minute, or since the first one was done."""
    since = min(60_000, summary.now - summary.first) if summary.first else 0
    return summary.minute * 1000 / max(1000, since)


def _left(summary: Summary, open_: int, per_second: float) -> float | None:
    """Seconds until all chunks have ended, at least until the last back-off ends; None if no worker claims any."""
    if not open_:
        return 0.0
    held_up = summary.record.get("s") != State.AGGREGATING or "rd" in summary.record or summary.paused
    ready = open_ - summary.counts["errored"]
    if held_up or (ready and not per_second):
        return None
    waits = max(0, summary.late - summary.now) / 1000
    return max(waits, open_ / per_second if per_second else 0.0)


def _straggler(row: Running) -> Straggler:
    return Straggler(
        number=row.number, begun_ms=row.begun, worker=row.worker, attempt=row.attempts, crashes=row.crashes
    )


def _skew(summary: Summary) -> Skew | None:
    runs = sorted((max(0, ended - begun), number) for number, begun, ended in summary.runs)
    if not runs:
        return None
    longest, slowest = max(runs[-1], _longest(summary.record))
    middle, most = (runs[min(len(runs) - 1, int(len(runs) * share))][0] for share in (0.5, 0.95))
    return Skew(sampled=len(runs), p50_ms=middle, p95_ms=most, max_ms=longest, slowest=slowest)


def _longest(record: Mapping[str, str]) -> tuple[int, int]:
    """The longest run since the map, and the number of its chunk; the sample may have missed it."""
    return whole(record.get("xm")), whole(record.get("xn"))


def _kind(kind: Kind) -> ChunkError:
    failure = read_failure(kind.error) or Failure(type="", message=kind.reason)
    return ChunkError(failure=failure, failed=kind.failed, errored=kind.errored, number=kind.number)
