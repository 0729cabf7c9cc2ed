"""Arrow routing: finds a path for each arrow that does not cross other states' boxes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from console.diagram.layout import LAYOUTS, Layout
from console.diagram.path import APART, Arrow, Point, Size, arriving, between, leaving, straight
from queueops.model.states import table

Pair = tuple[str, str]

CLEAR = 7.0  # distance between arrows and boxes
GRID = 35  # px between the heights at which an arrow may run
TRACKS = 7  # arrows around boxes are spread over tracks, so that few overlap


class Rectangle(NamedTuple):
    """A rectangle by its four edges."""

    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def around(cls, centre: Point, size: Size, more: float = 0.0) -> Rectangle:
        """The rectangle of a box, larger by `more` at each side."""
        (x, y), (width, height) = centre, size
        return cls(x - width / 2 - more, y - height / 2 - more, x + width / 2 + more, y + height / 2 + more)

    def holds(self, point: Point) -> bool:
        """Whether the point is inside."""
        return self.left < point[0] < self.right and self.top < point[1] < self.bottom

    def meets(self, other: Rectangle) -> bool:
        """Whether the rectangles overlap."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


@lru_cache(maxsize=1024)
def route(layout: str, states: frozenset[str], pair: Pair) -> Arrow:
    """The arrow between two shown states; an empty name stands for no state."""
    place = next(each for each in LAYOUTS if each.name == layout)
    direct = _direct(place, pair)
    boxes = [Rectangle.around(place.places[state], place.box, CLEAR) for state in states if state not in pair]
    if not any(box.holds(point) for point in direct.points for box in boxes):
        return direct
    flows = table().flows
    own = sorted(flows).index(pair) if pair in flows else 0
    for track in range(own, own + TRACKS):  # a transition without space on its own track takes the next one
        ways = min(_detours(place, pair, boxes, track % TRACKS), key=_length, default=())
        if ways:
            return straight(*ways)
    return direct


def _length(corners: tuple[Point, ...]) -> float:
    return sum(map(math.dist, corners, corners[1:]))


def _direct(layout: Layout, pair: Pair) -> Arrow:
    source, target = pair
    if not source:
        return arriving(layout.places[target], layout.box, room=layout.is_roomy)
    if not target:
        return leaving(layout.places[source], layout.box)
    return between(layout.places[source], layout.places[target], layout.box)


def _detours(layout: Layout, pair: Pair, others: list[Rectangle], track: int) -> Iterator[tuple[Point, ...]]:
    """Free paths: out of one box, along a height without boxes, and into the other box."""
    if not all(pair):
        return
    start, end = (layout.places[name] for name in pair)
    lowest = round(max(y for _x, y in layout.places.values())) + layout.box[1]
    for height in range(track * GRID // TRACKS, lowest, GRID):
        outs = [door for door in _doors(start, end, height, layout.box, track) if _is_free(door[-1], height, others)]
        ins = [door for door in _doors(end, start, height, layout.box, track) if _is_free(door[-1], height, others)]
        for out, into in product(outs, ins):
            left, right = sorted((out[-1][0], into[-1][0]))
            if not any(box.meets(Rectangle(left, height, right, height)) for box in others):
                yield *out, (out[-1][0], height), (into[-1][0], height), *reversed(into)


def _is_free(door: Point, height: float, others: list[Rectangle]) -> bool:
    """Whether the vertical line from a door to the height is free."""
    top, bottom = sorted((door[1], height))
    return not any(box.meets(Rectangle(door[0], top, door[0], bottom)) for box in others)


def _doors(box: Point, other: Point, height: float, size: Size, track: int) -> Iterator[tuple[Point, ...]]:
    """The points at which an arrow to a height may leave a box: top or bottom, or the side with a turn."""
    (x, y), (width, half) = box, (size[0], size[1] / 2)
    way, spread = 1 if other[0] > x else -1, (track + 1) / (TRACKS + 1)
    if abs(height - y) > half + CLEAR:
        yield ((round(x + way * spread * width * 0.45, 1), y + half if height > y else y - half),)
    for shift in (-APART, APART):
        aside = width / 2 + 18 + spread * 40
        yield (x + way * width / 2, y + shift), (x + way * aside, y + shift)
