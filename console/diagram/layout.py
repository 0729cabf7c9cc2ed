"""Diagram layout: the positions of the states on wide and narrow screens. All else is computed."""

from __future__ import annotations

from typing import NamedTuple

from console.ui.kind_pages import states_of_kinds, ways_of_kinds
from queueops.model.states import State


class Layout(NamedTuple):
    """Width of the drawing, and size of a state's box; of a state's label the width in px and in characters.

    A roomy layout has space at its left, and for all transitions with traffic.
    """

    name: str
    width: int
    box: tuple[int, int]
    room: int
    fits: int
    is_roomy: bool

    @property
    def places(self) -> dict[str, tuple[int, int]]:
        """The centre of each state's box."""
        own = {state: shown.wide if self.is_roomy else shown.narrow for state, shown in states_of_kinds().items()}
        known = {state: wide if self.is_roomy else narrow for state, (wide, narrow) in PLACES.items()}
        return known | {state: place for state, place in own.items() if place is not None}


def states_of(flow: str) -> tuple[str, str]:
    """The states of a transition that is written as `pending>locked`; an empty name stands for no state."""
    source, _, target = flow.partition(">")
    return source, target


def _pairs(flows: str) -> frozenset[tuple[str, str]]:
    return frozenset(map(states_of, flows.split()))


PLACES: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {
    State.POSTPONED: ((170, 48), (58, 40)),
    State.PENDING: ((170, 159), (58, 140)),
    State.RESTART: ((510, 48), (282, 40)),
    State.LOCKED: ((510, 159), (282, 140)),
    State.FAILED: ((930, 48), (170, 280)),
    State.SUCCEEDED: ((930, 159), (282, 280)),
    State.CANCELLED: ((930, 240), (58, 280)),
    State.QUARANTINED: ((930, 318), (58, 436)),
    State.WAITING: ((170, 404), (170, 436)),
    State.IDLE: ((450, 404), (282, 436)),
}
"""The centre of each state's box on wide and on narrow screens; kinds bring those of theirs."""

SPINE = _pairs(
    ">pending >postponed postponed>pending pending>locked locked>restart restart>pending"
    " locked>succeeded locked>failed locked>cancelled"
)
"""The transitions of a plain task."""

WIDE = Layout("wide", 1080, (150, 58), 112, 15, is_roomy=True)
NARROW = Layout("narrow", 340, (107, 50), 94, 14, is_roomy=False)
LAYOUTS = (WIDE, NARROW)


def always(layout: Layout) -> frozenset[tuple[str, str]]:
    """The transitions that are always drawn; those of kinds where the layout has space."""
    return SPINE | _pairs(ways_of_kinds()) if layout.is_roomy else SPINE
