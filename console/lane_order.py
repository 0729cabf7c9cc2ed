"""In which order lanes are shown: always the same, so that no button is another lane's when it is pressed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from operator import attrgetter

from queueops.inspect import LaneRow

DIGITS = re.compile(r"(\d+)")


def in_place(lanes: Iterable[LaneRow]) -> list[LaneRow]:
    """By pool and name, `tenant-9` before `tenant-10`."""
    return sorted(lanes, key=lambda lane: (lane.pool, _natural(lane.lane), lane.lane))


def busiest(lanes: Iterable[LaneRow], most: int) -> list[LaneRow]:
    """Those in which most tasks wait, then run; in their places."""
    by_work = sorted(in_place(lanes), key=attrgetter("ready", "active", "paused"), reverse=True)
    return in_place(by_work[:most])


def _natural(name: str) -> list[tuple[int, str]]:
    """Numbers as numbers; each piece compares with each."""
    return [(int(piece[:18]), "") if piece.isdecimal() else (-1, piece) for piece in DIGITS.split(name)]
