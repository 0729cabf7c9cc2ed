"""How an arrow runs from one box to another: sides by where the boxes stand, opposite arrows beside each other."""

from __future__ import annotations

from typing import NamedTuple

Point = tuple[float, float]

APART = 9.0  # half the distance between an arrow and the one that runs the other way
BESIDE = 0.26  # where labels stand on ways that lead back: those cross others in their middle
STEEP = 2.0  # below this slope an arrow leaves at the side, above it at the top or the bottom
FAR = 3.5  # box widths; boxes of one row that are farther apart have others between them
BOW = 26.0
STUB = 64.0  # length of an arrow that comes from nowhere, or goes there


class Arrow(NamedTuple):
    """The `d` of a path, and where its label stands."""

    d: str
    label: Point


def between(start: Point, end: Point, box: tuple[int, int]) -> Arrow:
    """A soft curve from box to box."""
    (x1, y1), (x2, y2), (w, h) = start, end, box
    if abs(x2 - x1) < max(w, STEEP * abs(y2 - y1)):
        return _vertical(start, end, h)
    if y1 == y2 and abs(x2 - x1) > FAR * w:
        return _around(start, end, h)
    right = x2 > x1
    shift = -APART if right else APART
    a = (x1 + (w / 2 if right else -w / 2), y1 + shift)
    b = (x2 - (w / 2 if right else -w / 2), y2 + shift)
    pull = (b[0] - a[0]) / 2
    label = 0.5 if right else BESIDE if y2 > y1 else 1 - BESIDE
    return _curve(a, (a[0] + pull, a[1]), (b[0] - pull, b[1]), b, label)


def arriving(end: Point, box: tuple[int, int]) -> Arrow:
    """A short arrow from the left edge into a box."""
    x, y = end[0] - box[0] / 2, end[1]
    return Arrow(f"M{x - STUB:g} {y:g}H{x:g}", (x - STUB / 2 - 4, y))


def leaving(start: Point, box: tuple[int, int]) -> Arrow:
    """A short arrow out of a box, to the right."""
    x, y = start[0] + box[0] / 2, start[1]
    return Arrow(f"M{x:g} {y:g}h{STUB:g}", (x + STUB / 2 - 4, y))


def _vertical(start: Point, end: Point, height: int) -> Arrow:
    (x1, y1), (x2, y2) = start, end
    down = y2 > y1
    shift = APART * 2 if down else -APART * 2
    a = (x1 + shift, y1 + (height / 2 if down else -height / 2))
    b = (x2 + shift, y2 - (height / 2 if down else -height / 2))
    pull = (b[1] - a[1]) / 2
    label = 0.5 if x2 >= x1 else 1 - BESIDE if down else BESIDE
    return _curve(a, (a[0], a[1] + pull), (b[0], b[1] - pull), b, label)


def _around(start: Point, end: Point, height: int) -> Arrow:
    """Over the boxes that stand between."""
    a, b = (start[0], start[1] - height / 2), (end[0], end[1] - height / 2)
    return _curve(a, (a[0], a[1] - BOW), (b[0], b[1] - BOW), b, 0.5)


def _curve(a: Point, b: Point, c: Point, d: Point, label: float) -> Arrow:
    text = f"M{a[0]:g} {a[1]:g}C{b[0]:g} {b[1]:g} {c[0]:g} {c[1]:g} {d[0]:g} {d[1]:g}"
    return Arrow(text, (_along(label, a[0], b[0], c[0], d[0]), _along(label, a[1], b[1], c[1], d[1])))


def _along(t: float, a: float, b: float, c: float, d: float) -> float:
    """A point on a cubic Bezier curve; `t` goes from 0 to 1."""
    u = 1 - t
    return round(u**3 * a + 3 * u * u * t * b + 3 * u * t * t * c + t**3 * d, 1)
