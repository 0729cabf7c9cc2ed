"""State machine diagram: all states with counts and rates, or the path of one task."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

import msgspec

from console.diagram import labels
from console.diagram.layout import LAYOUTS, Layout, always, states_of
from console.diagram.path import Arrow, Point
from console.diagram.route import Pair, Rectangle, route
from console.ui import state_badges
from console.ui.formatting import rate as spelled
from console.ui.kind_pages import usual_states
from queueops.inspect import TaskDetail
from queueops.model.states import State, table

MARGIN = 24.0
LEAST = 10.0  # space around arrows
RARE = 0.01
"""Rates below this part of the highest one: their arrows are faint."""
USUAL = ("pending", "locked", "succeeded", "failed")
"""The states drawn for a task, even if it has not been in them; kinds name those of theirs."""


class Box(msgspec.Struct, frozen=True):
    """A state's box, and the number of tasks in it (for one task: how often it was in it)."""

    state: str
    label: str  # the name of the state
    left: float
    top: float
    width: int
    height: int
    count: int
    here: bool = False
    stuck: str = ""  # why nothing leaves it, in words
    room: int = 0  # px for the label
    fits: int = 0  # characters that fit into it

    @property
    def squeezed(self) -> int:
        """The width of a label that would be cut off otherwise; 0 if it fits."""
        return self.room if len(self.label) > self.fits else 0


class Way(msgspec.Struct, frozen=True):
    """An arrow; `rate` is its traffic, `weight` 0..4 its thickness, `spot` the position of its label.

    Weight 0: nothing moves there, or little beside the busiest arrow.
    """

    source: str
    target: str
    d: str
    rate: float
    weight: int
    spot: Point | None

    @property
    def look(self) -> str:
        """The end of its CSS class."""
        return "rare" if self.rate and not self.weight else str(self.weight)


class Picture(msgspec.Struct, frozen=True):
    """One drawing of the machine, cut to its content."""

    name: str
    width: int
    top: float
    height: float
    boxes: tuple[Box, ...]
    ways: tuple[Way, ...]
    others: tuple[tuple[str, str, float], ...] = ()
    """Transitions with traffic for which it has no space, with their rates, the busiest first."""

    @property
    def is_wide(self) -> bool:
        """Whether the label of a box is beside its icon. In a narrow one it is below, and the count beside."""
        return self.name == "wide"


def draw(
    counts: Mapping[str, int], flows: Mapping[str, float], stuck: Mapping[str, str] | None = None
) -> tuple[Picture, ...]:
    """The machine, for wide and for narrow screens; `stuck` are the states that nothing leaves, with the reason."""
    rates = {states_of(name): rate for name, rate in flows.items()}
    states = _connected() | {state for state, count in counts.items() if count}
    return tuple(
        msgspec.structs.replace(
            _picture(layout, states, counts, drawn := _drawn(layout, rates), stuck=stuck or {}),
            others=_others(states, rates, drawn),
        )
        for layout in LAYOUTS
    )


def draw_task(task: TaskDetail) -> tuple[Picture, ...]:
    """The path of one task, with its present state."""
    stays = _stays(task)
    visits = Counter(stays)
    walked = Counter(pairwise(["", *stays]))
    states = {*(usual_states(task.kind) or USUAL), task.state, *visits}
    return tuple(
        _picture(layout, states, visits, dict.fromkeys(always(layout), 0) | walked, task.state) for layout in LAYOUTS
    )


def _picture(
    layout: Layout,
    states: Iterable[str],
    counts: Mapping[str, int],
    rates: Mapping[Pair, float],
    here: str = "",
    stuck: Mapping[str, str] | None = None,
) -> Picture:
    """Draw one layout; `rates` holds each transition to draw between the shown states."""
    shown = frozenset(state for state in layout.places if state in states)
    pairs = frozenset(pair for pair in rates if pair[0] != pair[1] and set(pair) <= shown | {""})
    boxes = tuple(
        _box(layout, state, counts.get(state, 0), state == here, (stuck or {}).get(state, ""))
        for state in table().states
        if state in shown
    )
    least = 0 if here else RARE * max(rates.values(), default=0)  # each step of one task counts
    ways = _ways(layout, {pair: route(layout.name, shown, pair) for pair in pairs}, rates, boxes, least)
    return Picture(layout.name, layout.width, *_extent(boxes, ways), boxes, tuple(way for way, _arrow in ways))


def _drawn(layout: Layout, rates: Mapping[Pair, float]) -> dict[Pair, float]:
    """The transitions to draw: the permanent ones, and those with traffic if the layout has space."""
    moving = {pair for pair, rate in rates.items() if rate} if layout.is_roomy else set()
    return {pair: rates.get(pair, 0) for pair in always(layout) | moving}


def _others(
    states: set[str], rates: Mapping[Pair, float], drawn: Mapping[Pair, float]
) -> tuple[tuple[str, str, float], ...]:
    left = [(*pair, rate) for pair, rate in rates.items() if rate and pair not in drawn and set(pair) <= states | {""}]
    return tuple(sorted(left, key=lambda each: (-each[2], each)))


def _ways(
    layout: Layout, arrows: Mapping[Pair, Arrow], rates: Mapping[Pair, float], boxes: Iterable[Box], least: float
) -> list[tuple[Way, Arrow]]:
    """The arrows with their rates; the highest rate gets its label position first."""
    pairs = sorted(arrows, key=lambda pair: (-rates.get(pair, 0), pair))
    wanted = [(f"{spelled(rates[pair])}/s", arrows[pair]) for pair in pairs if rates.get(pair)]
    full = [Rectangle(box.left, box.top, box.left + box.width, box.top + box.height) for box in boxes]
    spots = labels.place(wanted, full, layout.width) + [None] * (len(pairs) - len(wanted))
    return [
        (_way(pair, arrows[pair], rates.get(pair, 0), spot, least), arrows[pair])
        for pair, spot in zip(pairs, spots, strict=True)
    ]


def _way(pair: Pair, arrow: Arrow, rate: float, spot: Point | None, least: float) -> Way:
    weight = min(4, 1 + int(math.log10(1 + rate))) if rate > 0 and rate >= least else 0
    return Way(*pair, arrow.d, rate, weight, spot)


def _extent(boxes: tuple[Box, ...], ways: Iterable[tuple[Way, Arrow]]) -> tuple[float, float]:
    """Top and height of the drawing."""
    heights = [y for _way, arrow in ways for _x, y in arrow.points]
    top = min([box.top - MARGIN for box in boxes] + [min(heights, default=0) - LEAST], default=0)
    low = max([box.top + box.height + MARGIN for box in boxes] + [max(heights, default=0) + LEAST], default=0)
    return round(top, 1), round(low - top, 1)


def _box(layout: Layout, state: str, count: int, here: bool, stuck: str) -> Box:
    (x, y), (width, height) = layout.places[state], layout.box
    left, top = x - width / 2, y - height / 2
    label = state_badges.label(state)
    return Box(str(state), label, left, top, width, height, count, here, stuck, layout.room, layout.fits)


def _stays(task: TaskDetail) -> list[str]:
    """The states of a task in order; PENDING comes before each start, even if the timeline does not have it."""
    stays: list[str] = []
    for state in [moment.state for moment in task.timeline if moment.state] or [task.state]:
        before = stays[-1] if stays else ""
        if state in table().leased and before != State.PENDING:
            stays.append(State.PENDING)
        if state != before:
            stays.append(state)
    return stays


def _connected() -> set[str]:
    """The states that the engine's transitions reach."""
    return {state for pair in table().flows for state in pair if state}
