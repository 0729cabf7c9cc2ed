"""Arrow paths: from box to box as a curve, or around other boxes with right angles."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

Point = tuple[float, float]
Size = tuple[int, int]

APART = 9.0  # half the distance between an arrow and the opposite one
BESIDE = 0.26  # label position on arrows that lead back: their middle crosses other arrows
STEEP = 2.0  # below this slope an arrow starts at the side, above it at the top or bottom
STUB = 64.0  # length of an arrow without a source or target box
SHORT_STUB = 26.0
ROUND = 12.0  # radius of the corners
STEP = 6.0  # distance between the sampled points of a path


class Arrow(NamedTuple):
    """The `d` of a path, points along it, and the preferred position of its label, from 0 to 1."""

    d: str
    points: tuple[Point, ...]
    label: float = 0.5

    @property
    def length(self) -> float:
        """The length of the path."""
        return sum(math.dist(a, b) for a, b in pairwise(self.points))


def between(start: Point, end: Point, box: Size) -> Arrow:
    """A curve from box to box; the positions choose the sides, and opposite arrows run side by side."""
    (x1, y1), (x2, y2), (w, h) = start, end, box
    if abs(x2 - x1) < max(w, STEEP * abs(y2 - y1)):
        return _vertical(start, end, h)
    right = x2 > x1
    shift = -APART if right else APART
    a = (x1 + (w / 2 if right else -w / 2), y1 + shift)
    b = (x2 - (w / 2 if right else -w / 2), y2 + shift)
    pull = (b[0] - a[0]) / 2
    return _curve(a, (a[0] + pull, a[1]), (b[0] - pull, b[1]), b, 0.5 if right else BESIDE if y2 > y1 else 1 - BESIDE)


def arriving(end: Point, box: Size, *, room: bool) -> Arrow:
    """A short arrow into a box from the left; without space at the left, from above or below."""
    (x, y), (w, h) = end, box
    if room:
        return straight((x - w / 2 - STUB, y), (x - w / 2, y), label=0.46)
    above = y < 2 * h
    edge = y - h / 2 if above else y + h / 2
    return straight((x - w / 4, edge - SHORT_STUB if above else edge + SHORT_STUB), (x - w / 4, edge), label=0.0)


def leaving(start: Point, box: Size) -> Arrow:
    """A short arrow out of a box, to the right."""
    x, y = start[0] + box[0] / 2, start[1]
    return straight((x, y), (x + STUB, y))


def straight(*corners: Point, label: float = 0.5) -> Arrow:
    """A line with rounded corners."""
    d = [f"M{corners[0][0]:g} {corners[0][1]:g}"]
    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        a, b = _towards(corner, before), _towards(corner, after)
        d.append(f"L{a[0]:g} {a[1]:g}Q{corner[0]:g} {corner[1]:g} {b[0]:g} {b[1]:g}")
    d.append(f"L{corners[-1][0]:g} {corners[-1][1]:g}")
    return Arrow("".join(d), tuple(_steps(corners)), label)


def _towards(corner: Point, other: Point) -> Point:
    far = math.dist(corner, other)
    share = min(ROUND, far / 2) / far if far else 0
    return round(corner[0] + (other[0] - corner[0]) * share, 1), round(corner[1] + (other[1] - corner[1]) * share, 1)


def _steps(corners: tuple[Point, ...]) -> Iterator[Point]:
    for a, b in pairwise(corners):
        count = max(1, round(math.dist(a, b) / STEP))
        for i in range(count):
            yield a[0] + (b[0] - a[0]) * i / count, a[1] + (b[1] - a[1]) * i / count
    yield corners[-1]


def _vertical(start: Point, end: Point, height: int) -> Arrow:
    (x1, y1), (x2, y2) = start, end
    down = y2 > y1
    shift = APART * 2 if down else -APART * 2
    a = (x1 + shift, y1 + (height / 2 if down else -height / 2))
    b = (x2 + shift, y2 - (height / 2 if down else -height / 2))
    pull = (b[1] - a[1]) / 2
    label = 0.5 if x2 >= x1 else 1 - BESIDE if down else BESIDE
    return _curve(a, (a[0], a[1] + pull), (b[0], b[1] - pull), b, label)


def _curve(a: Point, b: Point, c: Point, d: Point, label: float) -> Arrow:
    text = f"M{a[0]:g} {a[1]:g}C{b[0]:g} {b[1]:g} {c[0]:g} {c[1]:g} {d[0]:g} {d[1]:g}"
    count = max(8, round(math.dist(a, d) / STEP))
    points = (
        (_along(i / count, *xs), _along(i / count, *ys))
        for i in range(count + 1)
        for xs, ys in [zip(a, b, c, d, strict=True)]
    )
    return Arrow(text, tuple(points), label)


def _along(t: float, a: float, b: float, c: float, d: float) -> float:
    """A point on a cubic Bezier curve; `t` goes from 0 to 1."""
    u = 1 - t
    return round(u**3 * a + 3 * u * u * t * b + 3 * u * t * t * c + t**3 * d, 1)
