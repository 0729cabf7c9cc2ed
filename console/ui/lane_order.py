"""In which order lanes are shown: always the same, so that no button is another lane's when it is pressed."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from console.ui.natural_order import natural
from queueops.inspect import LaneRow


def in_place(lanes: Iterable[LaneRow]) -> list[LaneRow]:
    """By pool and name."""
    return sorted(lanes, key=lambda lane: (lane.pool, natural(lane.lane), lane.lane))


def busiest(lanes: Iterable[LaneRow], most: int) -> list[LaneRow]:
    """Those in which most tasks wait, then run; in their places."""
    by_work = sorted(in_place(lanes), key=attrgetter("ready", "active", "paused"), reverse=True)
    return in_place(by_work[:most])
