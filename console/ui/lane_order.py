"""Lane order: always the same, so that a button does not move to another lane before the click."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from console.ui.natural_order import natural
from queueops.inspect import LaneRow


def in_place(lanes: Iterable[LaneRow]) -> list[LaneRow]:
    """Sort by pool and name."""
    return sorted(lanes, key=lambda lane: (lane.pool, natural(lane.lane), lane.lane))


def busiest(lanes: Iterable[LaneRow], most: int) -> list[LaneRow]:
    """The lanes with most waiting, then most running tasks; in the usual order."""
    by_work = sorted(in_place(lanes), key=attrgetter("ready", "active", "paused"), reverse=True)
    return in_place(by_work[:most])
