"""Order of lists: the same at each load, so that a button does not move to another row before the click."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from queueops.inspect import LaneRow, bound_of

OLD_MS = 60_000
CLOSED = ("paused", "limit 0", "no worker")
DIGITS = re.compile(r"(\d+)")


@lru_cache(maxsize=2048)
def natural(name: str) -> tuple[tuple[int, str], ...]:
    """The sort key of a name, `tenant-9` before `tenant-10`; a number and a text are comparable too."""
    return tuple([(int(piece[:18]), "") if piece.isdecimal() else (-1, piece) for piece in DIGITS.split(name)])


def in_place(lanes: Iterable[LaneRow]) -> list[LaneRow]:
    """Sort lanes by pool and by the name that is shown."""
    return sorted(lanes, key=lambda lane: (lane.pool, natural(lane.label), lane.lane))


def by_trouble(lanes: Iterable[LaneRow], now_ms: int) -> list[LaneRow]:
    """Sort lanes by trouble: those whose tasks do not start, then old tasks at a limit, old tasks, waiting, running.

    Within a group the lane with the oldest task comes first: that order changes only when the task starts. Where it is
    not known, the lane with most ready tasks comes first.
    """

    def trouble(lane: LaneRow) -> tuple[int, float, int]:
        oldest = float("inf") if lane.oldest_ms is None else lane.oldest_ms
        old = now_ms - oldest > OLD_MS
        if lane.ready and lane.drain_reason in CLOSED:
            return 0, oldest, -lane.ready
        if lane.ready and old:
            return (1 if bound_of(lane) else 2), oldest, -lane.ready
        return (3 if lane.ready else 4 if lane.active else 5), oldest, -lane.ready

    return sorted(in_place(lanes), key=trouble)
