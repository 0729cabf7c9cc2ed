"""Lane questions: waiting tasks, running tasks and limits of each lane."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from queueops.inspect.answers import Answer, Listing, broken_pools
from queueops.inspect.estimates import Estimate, Model
from queueops.inspect.store import open_reader, pools_of

MOST, MOST_CHUNK_LANES = 200, 50


class LaneRow(Answer, frozen=True, kw_only=True):
    """A lane: its settings and its queue now."""

    pool: str
    lane: str
    ready: int
    active: int
    limit: int | None = None
    rate: float | None = None  # starts per second; None: no limit
    spent: bool = False  # the rate limit permits no start now
    paused: bool = False
    oldest_ms: int | None = None  # time when its oldest ready task became ready
    weight: int = 1
    drain_s: float | None = None  # seconds until all that waits in it now has run; None: unknown, or see the reason
    drain_reason: str = ""  # no worker, paused, limit 0 (never, until that is mended), or no run yet (unknown)
    start_rate: float = 0.0  # estimated starts per second while it has work


class ChunkLane(Answer, frozen=True, kw_only=True):
    """The chunks of one aggregating map-reduce task: they wait in a lane of their own."""

    pool: str
    id: str
    name: str
    lane: str  # the task's lane: when that is paused, its chunks wait too
    ready: int
    active: int
    errored: int
    done: int = 0
    failed: int = 0
    limit: int | None = None
    closed: bool = False  # workers claim none now: the task's lane is paused, or chunks are being moved back to pending


def lanes(pool: str = "") -> Listing[LaneRow]:
    """The lanes of a pool or of all, by pool, the latest used first; at most 200 of each."""
    reader = open_reader()
    samples = reader.samples(pools_of(reader, pool), MOST)
    broken = broken_pools({name: sampled.get("broken") or () for name, sampled in samples.items()}, reader.silent)
    return Listing((row for name, sampled in samples.items() for row in lane_rows(name, sampled)), broken)


def chunk_lanes(pool: str = "") -> list[ChunkLane]:
    """Aggregating map-reduce tasks of a pool or of all, those with most ready chunks first; at most 50 of each."""
    reader = open_reader()
    samples = reader.samples(pools_of(reader, pool), MOST_CHUNK_LANES)
    return most_ready(row for name, sampled in samples.items() for row in chunk_rows(name, sampled))


def most_ready(rows: Iterable[ChunkLane]) -> list[ChunkLane]:
    """Sort by the number of ready chunks, the highest first."""
    return sorted(rows, key=lambda row: (-row.ready, row.pool, row.id))


def chunk_rows(pool: str, sampled: dict[str, Any]) -> list[ChunkLane]:
    """The chunk lanes in a pool's sample."""
    return [
        ChunkLane(
            pool=pool,
            id=str(row["task"]),
            name=str(row["name"]),
            lane=str(row["lane"]),
            ready=int(row["pending"]),
            active=int(row["active"]),
            errored=int(row["errored"]),
            done=int(row.get("done") or 0),
            failed=int(row.get("failed") or 0),
            limit=None if row.get("limit") is None else int(row["limit"]),
            closed=bool(row.get("closed")),
        )
        for row in (sampled.get("chunks") or {}).get("lanes") or ()
    ]


def lane_rows(pool: str, sampled: dict[str, Any], model: Model | None = None) -> list[LaneRow]:
    """The lanes in a pool's sample; with a model also when each is empty."""
    return [_row(pool, row, model.lane(str(row["lane"])) if model else Estimate()) for row in sampled["lanes"] or ()]


def _row(pool: str, row: dict[str, Any], estimate: Estimate) -> LaneRow:
    return LaneRow(
        pool=pool,
        lane=str(row["lane"]),
        ready=int(row["ready"]),
        active=int(row["active"]),
        limit=None if row.get("limit") is None else int(row["limit"]),
        rate=None if row.get("rate") is None else float(row["rate"]),
        spent=bool(row.get("spent")),
        paused=bool(row.get("paused")),
        oldest_ms=None if row.get("oldest") is None else int(row["oldest"]),
        weight=row.get("weight") or 1,
        drain_s=estimate.seconds,
        drain_reason=estimate.reason,
        start_rate=estimate.per_s,
    )
