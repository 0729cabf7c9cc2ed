"""Chunks in a pool's sample: their figures, and the tasks whose chunks wait.

The chunks of one aggregating task wait in a lane of their own. Chunks and lanes come from the same sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from queueops.inspect.answers import Answer
from queueops.inspect.estimates import PartLine
from queueops.inspect.lanes import pool_samples
from queueops.inspect.throughput import flows
from queueops.kinds.mapreduce.states import CHUNK_STATES
from queueops.redis.query_replies import maybe_whole

MOST_CHUNK_LANES = 50
COLUMNS = (("CHUNKS WAITING", "chunks_pending"),)


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
    waits: bool = False  # for a turn of their key: all are taken, or the rate allows no start now
    closed: bool = False  # workers claim none now: the task's lane is paused, or chunks are being moved back to pending


def chunk_lanes(pool: str = "", *, max_age_s: float = 0.0) -> list[ChunkLane]:
    """Aggregating map-reduce tasks of a pool or of all, those with most ready chunks first; at most 50 of each.

    The answer may be one that this process read up to ``max_age_s`` seconds ago, also for `lanes`.
    """
    samples = pool_samples(pool, max_age_s)
    return _most_ready(row for name, sampled in samples.items() for row in _rows(name, sampled)[:MOST_CHUNK_LANES])


def of_snapshot(samples: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What they are in a `Snapshot`: the tasks with most ready chunks first."""
    return {"chunk_lanes": tuple(_most_ready(row for name, sampled in samples.items() for row in _rows(name, sampled)))}


def of_pool(sampled: Mapping[str, Any]) -> dict[str, Any]:
    """What they are in a `PoolView`; extrapolated if only some of the aggregating tasks were sampled."""
    counts = {state: _counted(sampled, state) for state in CHUNK_STATES}
    return {
        "chunks_pending": counts["pending"],
        "chunks_active": counts["active"],
        "chunks": counts,
        "chunk_rate": sum(
            rate for flow, rate in moves(sampled).items() if flow.partition(">")[2] in ("done", "failed")
        ),
    }


def moves(sampled: Mapping[str, Any]) -> dict[str, float]:
    """Their changes of state per second, `pending>active`."""
    return flows(sampled, "ch")


def waiting(sampled: Mapping[str, Any]) -> Iterator[PartLine]:
    """The lanes of chunks in the model of estimates; one without a task has those that were not sampled."""
    found = sampled.get("chunks") or {}
    listed = 0
    for row in found.get("lanes") or ():
        listed += int(row["pending"])
        yield PartLine(
            key=f"#{row['task']}",
            lane=str(row.get("lane") or ""),
            name=str(row["name"]),
            waiting=int(row["pending"]),
            active=int(row["active"]),
            limit=maybe_whole(row.get("limit")),
            paused=bool(row.get("closed")),
        )
    if (others := _counted(sampled, "pending") - listed) > 0:
        yield PartLine(key="#", waiting=others)


def _counted(sampled: Mapping[str, Any], state: str) -> int:
    found = sampled.get("chunks") or {}
    looked = int(found.get("looked") or 0)
    return round(int(found.get(state) or 0) * int(found.get("tasks") or 0) / looked) if looked else 0


def _most_ready(rows: Iterable[ChunkLane]) -> list[ChunkLane]:
    return sorted(rows, key=lambda row: (-row.ready, row.pool, row.id))


def _rows(pool: str, sampled: Mapping[str, Any]) -> list[ChunkLane]:
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
            waits=bool(row.get("waits")),
            closed=bool(row.get("closed")),
        )
        for row in (sampled.get("chunks") or {}).get("lanes") or ()
    ]
