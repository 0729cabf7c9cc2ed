"""Order of lists: the same at each load, so that a button does not move to another row before the click."""

from __future__ import annotations

import re
from collections.abc import Iterable
from operator import attrgetter

from queueops.inspect import LaneRow

DIGITS = re.compile(r"(\d+)")


def natural(name: str) -> list[tuple[int, str]]:
    """The sort key of a name, `tenant-9` before `tenant-10`; a number and a text are comparable too."""
    return [(int(piece[:18]), "") if piece.isdecimal() else (-1, piece) for piece in DIGITS.split(name)]


def in_place(lanes: Iterable[LaneRow]) -> list[LaneRow]:
    """Sort lanes by pool and name."""
    return sorted(lanes, key=lambda lane: (lane.pool, natural(lane.lane), lane.lane))


def busiest(lanes: Iterable[LaneRow], most: int) -> list[LaneRow]:
    """The lanes with most waiting, then most running tasks; in the usual order."""
    by_work = sorted(in_place(lanes), key=attrgetter("ready", "active", "paused"), reverse=True)
    return in_place(by_work[:most])
