"""Diagram layout: the positions of the states on wide and narrow screens. All else is computed."""

from __future__ import annotations

from typing import NamedTuple

from queueops.model.states import State


class Layout(NamedTuple):
    """Width of the drawing, size of a state's box, centre of each box; `stubs`: there is space at the left."""

    name: str
    width: int
    box: tuple[int, int]
    places: dict[State, tuple[int, int]]
    stubs: bool


_S = State

WIDE = Layout(
    "wide",
    1080,
    (150, 58),
    {
        _S.POSTPONED: (170, 48),
        _S.PENDING: (170, 159),
        _S.MAPPING: (170, 318),
        _S.AGGREGATING: (376, 318),
        _S.REDUCING: (572, 318),
        _S.RESTART: (510, 48),
        _S.LOCKED: (510, 159),
        _S.FAILED: (930, 48),
        _S.SUCCEEDED: (930, 159),
        _S.CANCELLED: (930, 240),
        _S.QUARANTINED: (930, 318),
        _S.WAITING: (170, 404),
        _S.IDLE: (450, 404),
    },
    stubs=True,
)

NARROW = Layout(
    "narrow",
    340,
    (104, 50),
    {
        _S.POSTPONED: (58, 40),
        _S.RESTART: (282, 40),
        _S.PENDING: (58, 140),
        _S.LOCKED: (282, 140),
        _S.CANCELLED: (58, 280),
        _S.FAILED: (170, 280),
        _S.SUCCEEDED: (282, 280),
        _S.MAPPING: (58, 366),
        _S.AGGREGATING: (170, 366),
        _S.REDUCING: (282, 366),
        _S.QUARANTINED: (58, 436),
        _S.WAITING: (170, 436),
        _S.IDLE: (282, 436),
    },
    stubs=False,
)

LAYOUTS = (WIDE, NARROW)

SPINE: frozenset[tuple[str, str]] = frozenset(
    {
        ("", "pending"),
        ("", "postponed"),
        ("postponed", "pending"),
        ("pending", "locked"),
        ("locked", "restart"),
        ("restart", "pending"),
        ("locked", "succeeded"),
        ("locked", "failed"),
        ("locked", "cancelled"),
    }
)
"""Transitions that are always drawn; the others appear with their traffic."""

CHUNKED: frozenset[tuple[str, str]] = frozenset(
    {
        ("pending", "mapping"),
        ("mapping", "aggregating"),
        ("aggregating", "pending"),
        ("pending", "reducing"),
        ("reducing", "succeeded"),
    }
)
"""The transitions of a map-reduce task."""

ALWAYS = {WIDE.name: SPINE | CHUNKED, NARROW.name: SPINE}
"""What is drawn also without traffic."""

DRAWN = {WIDE.name: None, NARROW.name: SPINE}
"""What is drawn at all, as far as there is room for it; None: everything."""
