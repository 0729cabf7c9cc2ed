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


def states_of(flow: str) -> tuple[str, str]:
    """The states of a transition that is written as `pending>locked`; an empty name stands for no state."""
    source, _, target = flow.partition(">")
    return source, target


def _pairs(flows: str) -> frozenset[tuple[str, str]]:
    return frozenset(map(states_of, flows.split()))


PLACES: dict[State, tuple[tuple[int, int], tuple[int, int]]] = {
    State.POSTPONED: ((170, 48), (58, 40)),
    State.PENDING: ((170, 159), (58, 140)),
    State.MAPPING: ((170, 318), (58, 366)),
    State.AGGREGATING: ((376, 318), (170, 366)),
    State.REDUCING: ((572, 318), (282, 366)),
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

WIDE = Layout("wide", 1080, (150, 58), {state: wide for state, (wide, _narrow) in PLACES.items()}, stubs=True)
NARROW = Layout("narrow", 340, (104, 50), {state: narrow for state, (_wide, narrow) in PLACES.items()}, stubs=False)
LAYOUTS = (WIDE, NARROW)

SPINE = _pairs(
    ">pending >postponed postponed>pending pending>locked locked>restart restart>pending"
    " locked>succeeded locked>failed locked>cancelled"
)
"""Transitions that are always drawn; the others appear with their traffic."""

CHUNKED = _pairs("pending>mapping mapping>aggregating aggregating>pending pending>reducing reducing>succeeded")
"""The transitions of a map-reduce task."""

ALWAYS = {WIDE.name: SPINE | CHUNKED, NARROW.name: SPINE}
"""What is drawn also without traffic."""

DRAWN = {WIDE.name: None, NARROW.name: SPINE}
"""What is drawn at all, as far as there is room for it; None: everything."""
