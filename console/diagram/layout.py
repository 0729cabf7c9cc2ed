"""Diagram layout: the positions of the states on wide and narrow screens. All else is computed."""

from __future__ import annotations

from typing import NamedTuple

from queueops.model.states import State


class Layout(NamedTuple):
    """Width of the drawing, size of a state's box, centre of each box, and transitions that are always drawn.

    A roomy layout has space at its left, and for all transitions with traffic.
    """

    name: str
    width: int
    box: tuple[int, int]
    places: dict[str, tuple[int, int]]
    always: frozenset[tuple[str, str]]
    is_roomy: bool


def states_of(flow: str) -> tuple[str, str]:
    """The states of a transition that is written as `pending>locked`; an empty name stands for no state."""
    source, _, target = flow.partition(">")
    return source, target


def _pairs(flows: str) -> frozenset[tuple[str, str]]:
    return frozenset(map(states_of, flows.split()))


PLACES: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {
    State.POSTPONED: ((170, 48), (58, 40)),
    State.PENDING: ((170, 159), (58, 140)),
    "mapping": ((170, 318), (58, 366)),
    "aggregating": ((376, 318), (170, 366)),
    "reducing": ((572, 318), (282, 366)),
    State.RESTART: ((510, 48), (282, 40)),
    State.LOCKED: ((510, 159), (282, 140)),
    State.FAILED: ((930, 48), (170, 280)),
    State.SUCCEEDED: ((930, 159), (282, 280)),
    State.CANCELLED: ((930, 240), (58, 280)),
    State.QUARANTINED: ((930, 318), (58, 436)),
    State.WAITING: ((170, 404), (170, 436)),
    State.IDLE: ((450, 404), (282, 436)),
}
"""The centre of each state's box on wide and on narrow screens."""

SPINE = _pairs(
    ">pending >postponed postponed>pending pending>locked locked>restart restart>pending"
    " locked>succeeded locked>failed locked>cancelled"
)
"""The transitions of a plain task."""

CHUNKED = _pairs("pending>mapping mapping>aggregating aggregating>pending pending>reducing reducing>succeeded")
"""The transitions of a map-reduce task."""

WIDE = Layout(
    "wide", 1080, (150, 58), {state: wide for state, (wide, _) in PLACES.items()}, SPINE | CHUNKED, is_roomy=True
)
NARROW = Layout(
    "narrow", 340, (107, 50), {state: narrow for state, (_, narrow) in PLACES.items()}, SPINE, is_roomy=False
)
LAYOUTS = (WIDE, NARROW)
