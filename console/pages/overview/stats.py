"""Overview figures: rates, waits and backlog over all pools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from console.kinds.mapreduce.chunk_appearance import LOOKS
from queueops.inspect import PoolView, Snapshot
from queueops.model.states import State

BACKLOG_S = 5.0
"""Tasks that can start within this number of seconds are not a backlog, even if their number does not fall."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures. Rates are per second, durations as in the snapshot; None if nothing was measured."""

    in_rate: float
    out_rate: float
    failure_rate: float
    wait_p95_ms: float | None
    run_p95_ms: float | None
    drain_s: float | None
    keeps_up: bool
    waiting: int
    chunks_waiting: int
    chunks: dict[str, int]
    chunk_rate: float
    workers: int


def figures(snapshot: Snapshot) -> Figures:
    """The figures over all pools: sums of rates and counts, the worst of waits and runs."""
    pools = snapshot.pools
    out_rate = sum(pool.out_rate for pool in pools)
    failed = sum(pool.failure_rate * pool.out_rate for pool in pools)
    return Figures(
        in_rate=sum(pool.in_rate for pool in pools),
        out_rate=out_rate,
        failure_rate=failed / out_rate if out_rate else 0.0,
        wait_p95_ms=_worst(pool.wait_p95_ms for pool in pools),
        run_p95_ms=_worst(pool.run_p95_ms for pool in pools),
        drain_s=_drain(pools),
        keeps_up=sum(pool.waiting for pool in pools) <= BACKLOG_S * sum(_starts(snapshot.flows)),
        waiting=sum(pool.waiting for pool in pools),
        chunks_waiting=sum(pool.chunks_pending for pool in pools),
        chunks={state: sum(pool.chunks.get(state, 0) for pool in pools) for state in LOOKS},
        chunk_rate=sum(pool.chunk_rate for pool in pools),
        workers=sum(pool.workers for pool in pools),
    )


def _starts(flows: Mapping[str, float]) -> Iterable[float]:
    return (rate for flow, rate in flows.items() if flow.startswith(f"{State.PENDING}>"))


def _worst(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _drain(pools: Iterable[PoolView]) -> float | None:
    """Seconds until nothing waits: zero if nothing waits, None if one pool's waiting tasks do not become fewer."""
    waiting = [pool for pool in pools if pool.waiting]
    times = [pool.drain_s for pool in waiting if pool.drain_s is not None]
    if len(times) < len(waiting):
        return None
    return max(times, default=0.0)
