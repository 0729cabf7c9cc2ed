"""Overview figures: rates, waits and backlog over all pools."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from console.diagram.lane_rows import UNKNOWN
from queueops.inspect import LaneRow, PoolView, Snapshot, Trend

BACKLOG_S = 5.0
"""Tasks that have run within this number of seconds are not a backlog."""
BLOCKING = ("hanging", "stuck")
"""Kinds of alarms of pools in which no waiting task starts."""
REASONS = {
    "no worker": _("no worker"),
    "paused": _("paused"),
    "limit 0": _("limit is 0"),
    UNKNOWN: _("no run yet"),
}
"""Why there is no time until nothing waits, in words."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures. Rates are per second, durations as in the snapshot; None if nothing was measured."""

    in_rate: float
    out_rate: float
    failure_rate: float
    fails: bool
    wait_p95_ms: float | None
    run_p95_ms: float | None
    drain_s: float | None
    drain_never: bool
    drain_reason: str | Promise
    keeps_up: bool
    held: int
    waiting: int


def figures(snapshot: Snapshot) -> Figures:
    """The figures over all pools: sums of rates and counts, the worst of waits and runs."""
    pools = snapshot.pools
    attempts = sum(pool.attempts for pool in pools)
    failed = sum(pool.failure_rate * pool.attempts for pool in pools)
    drain_s, reason = _drain(pools)
    blocked = {pool for alarm in snapshot.alarms if alarm.kind in BLOCKING for pool in alarm.pools}
    return Figures(
        in_rate=sum(pool.in_rate for pool in pools),
        out_rate=sum(pool.out_rate for pool in pools),
        failure_rate=failed / attempts if attempts else 0.0,
        fails=any(pool.fails for pool in pools),
        wait_p95_ms=_worst(pool.wait_p95_ms for pool in pools),
        run_p95_ms=_worst(pool.run_p95_ms for pool in pools),
        drain_s=drain_s,
        drain_never=drain_s is None and reason != UNKNOWN,
        drain_reason=REASONS.get(reason, reason),
        keeps_up=drain_s is not None and 0 < drain_s <= BACKLOG_S,
        held=sum(pool.waiting if pool.name in blocked else pool.held for pool in pools),
        waiting=sum(pool.waiting for pool in pools),
    )


def is_quiet(lane: LaneRow, hour: Trend | None) -> bool:
    """Whether nothing waits or runs in the lane, and no run has ended there within the hour."""
    return not (lane.ready or lane.active or lane.paused or (hour and any(hour.ended)))


def _worst(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _drain(pools: Iterable[PoolView]) -> tuple[float | None, str]:
    """Seconds until all that waits has run. None and the reason, if one pool never does, or its time is unknown."""
    waiting = [pool for pool in pools if pool.waiting]
    reasons = sorted((pool.drain_reason for pool in waiting if pool.drain_s is None), key=lambda name: name == UNKNOWN)
    if reasons:
        return None, reasons[0]
    return max((pool.drain_s or 0.0 for pool in waiting), default=0.0), ""
