"""Graph of tasks as SVG: boxes with a state and a track of time, frames around the parts of one, and arrows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

import msgspec
from msgspec.structs import replace

from console.ui import formatting

WIDE, NARROW = 1060.0, 330.0
"""The widths for which a graph is laid out."""
HEIGHT, WIDTH = 50.0, 190.0
"""A box; on a narrow screen it is as wide as its place."""
GAP, BETWEEN = 26.0, 10.0
"""Space for an arrow, and between boxes without one."""
PAD, HEAD = 10.0, 26.0
"""Space in a frame, and for its title."""
MOST_BOXES = 200
SIGN = 7.2  # px: width of a character
LEAST = 0.02  # of a track, so that it is visible


class Track(msgspec.Struct, frozen=True):
    """A coloured part of a box's track, as fractions of its width."""

    left: float
    width: float
    state: str


class Box(msgspec.Struct, frozen=True, kw_only=True):
    """A task, or many tasks in one box (`many`); `critical`: the end of the whole depends on it."""

    x: float = 0.0
    y: float = 0.0
    width: float
    name: str
    words: str
    state: str
    url: str
    number: str = ""
    tracks: tuple[Track, ...] = ()
    many: bool = False
    critical: bool = False

    @property
    def shown_name(self) -> str:
        """Its number and the end of its name, as far as there is space: packages come first."""
        most = int((self.width - 36) / SIGN) - len(self.number)
        return self.number + (self.name if len(self.name) <= most else f"…{self.name[1 - most :]}")

    @property
    def shown_words(self) -> str:
        """The beginning of its words, as far as there is space."""
        most = int((self.width - 20) / SIGN * 1.15)
        return self.words if len(self.words) <= most else f"{self.words[: most - 1]}…"

    @property
    def drawn(self) -> list[tuple[float, float, str]]:
        """Its track: left, width and state of each part."""
        width = self.width - 20
        return [(round(10 + each.left * width, 1), round(each.width * width, 1), each.state) for each in self.tracks]


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """A task with parts: a frame around them, with a title that leads to its page."""

    tracks: ClassVar[None] = None  # what tells it from a box in the template

    x: float = 0.0
    y: float = 0.0
    width: float
    height: float
    name: str
    state: str
    url: str
    critical: bool = False

    @property
    def shown_name(self) -> str:
        """Its name, as far as there is space."""
        most = int((self.width - 40) / SIGN)
        return self.name if len(self.name) <= most else f"{self.name[: most - 1]}…"


class Arrow(msgspec.Struct, frozen=True, kw_only=True):
    """An arrow; `down` leads to a row below. `waits`: what is at its end has not begun."""

    x1: float
    y1: float
    x2: float
    y2: float
    down: bool
    critical: bool = False
    waits: bool = False

    @property
    def d(self) -> str:
        """Its path."""
        if self.down:
            return f"M{self.x1:g} {self.y1:g}V{self.y2 - GAP / 2:g}H{self.x2:g}V{self.y2 - 3:g}"
        middle = (self.x1 + self.x2) / 2
        return f"M{self.x1:g} {self.y1:g}C{middle:g} {self.y1:g} {middle:g} {self.y2:g} {self.x2 - 3:g} {self.y2:g}"


class Piece(NamedTuple):
    """A part of a drawing, from its own top left corner on, in the order of the keyboard."""

    width: float
    height: float
    shapes: tuple[Box | Frame, ...]
    arrows: tuple[Arrow, ...] = ()

    def moved(self, x: float, y: float) -> Piece:
        """The same at another place."""
        shapes = tuple(replace(each, x=each.x + x, y=each.y + y) for each in self.shapes)
        arrows = tuple(replace(a, x1=a.x1 + x, x2=a.x2 + x, y1=a.y1 + y, y2=a.y2 + y) for a in self.arrows)
        return Piece(self.width, self.height, shapes, arrows)


class Graph(msgspec.Struct, frozen=True):
    """A drawing for screens of one width, ready for its template."""

    name: str
    width: float
    height: float
    shapes: tuple[Box | Frame, ...]
    arrows: tuple[Arrow, ...]

    @classmethod
    def of(cls, name: str, piece: Piece) -> Graph:
        """The drawing of a piece, with a little space around it."""
        piece = piece.moved(3, 3)
        return cls(name, piece.width + 6, piece.height + 6, piece.shapes, piece.arrows)


def boxed(box: Box) -> Piece:
    """One box."""
    return Piece(box.width, HEIGHT, (box,))


def framed(inner: Piece, frame: Frame) -> Piece:
    """A piece in a frame, whose size follows."""
    inner = inner.moved(PAD, HEAD)
    width, height = inner.width + 2 * PAD, inner.height + HEAD + PAD
    return Piece(width, height, (replace(frame, width=width, height=height), *inner.shapes), inner.arrows)


def in_rows(pieces: Sequence[Piece], room: float, most: int, joins: Sequence[tuple[bool, bool]] | None = None) -> Piece:
    """Pieces in rows of at most `most`, as far as there is space.

    `joins` is for pieces that follow each other: whether the arrow to each is critical, and whether this one waits.
    """
    gap = BETWEEN if joins is None else GAP
    x, y, low, count = 0.0, 0.0, 0.0, 0
    placed: list[tuple[float, float, Piece]] = []
    for piece in pieces:
        if placed and (count == most or x + piece.width > room):
            x, y, count = 0.0, low + gap, 0
        placed.append((x, y, piece.moved(x, y)))
        x, low, count = x + piece.width + gap, max(low, y + piece.height), count + 1
    arrows = [arrow for _x, _y, piece in placed for arrow in piece.arrows]
    if joins is not None:
        pairs = zip(placed, placed[1:], joins[1:], strict=False)
        arrows += [_joined(first, second, *join) for first, second, join in pairs]
    width = max((x + piece.width for x, _y, piece in placed), default=0.0)
    return Piece(width, low, tuple(shape for *_, piece in placed for shape in piece.shapes), tuple(arrows))


def _joined(
    first: tuple[float, float, Piece], second: tuple[float, float, Piece], critical: bool, waits: bool
) -> Arrow:
    (x, y, one), (left, top, other) = first, second
    if top == y:
        spots = {"x1": x + one.width, "y1": y + HEIGHT / 2, "x2": left, "y2": top + HEIGHT / 2}
    else:
        x1, x2 = x + min(one.width, WIDTH) / 2, left + min(other.width, WIDTH) / 2
        spots = {"x1": x1, "y1": y + one.height, "x2": x2, "y2": top}
    return Arrow(**spots, down=top != y, critical=critical, waits=waits)


def time_track(begun: int | None, ended: int | None, whole: tuple[int, int], state: str) -> tuple[Track, ...]:
    """When it ran, as a part of the whole time; nothing without a beginning."""
    first, last = whole
    if begun is None or last <= first:
        return ()
    left = min(1 - LEAST, max(0.0, (begun - first) / (last - first)))
    right = min(1.0, max(left + LEAST, ((ended or last) - first) / (last - first)))
    return (Track(round(left, 4), round(right - left, 4), state),)


def count_track(counts: Sequence[tuple[str, int]]) -> tuple[Track, ...]:
    """The share of each state; no share is too small to be seen."""
    total = max(1, sum(count for _state, count in counts))
    shares = [(state, max(LEAST, count / total)) for state, count in counts]
    unit, left, found = 1 / max(1.0, sum(share for _state, share in shares)), 0.0, []
    for state, share in shares:
        found.append(Track(round(left, 4), round(share * unit, 4), state))
        left += share * unit
    return tuple(found)


def counted(counts: Iterable[tuple[str, int]]) -> str:
    """Counts by state in words: `471 succeeded, 9 failed`."""
    return ", ".join(f"{formatting.count(count)} {state}" for state, count in counts)
