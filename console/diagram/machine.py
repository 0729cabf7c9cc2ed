"""The whole machine, with counts on its states and rates on the ways between them; or one task's own way."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

import msgspec

from console.diagram import labels
from console.diagram.layout import ALWAYS, DRAWN, LAYOUTS, Layout
from console.diagram.path import Arrow, Point
from console.diagram.route import Pair, Rectangle, route
from console.ui.formatting import rate as spelled
from queueops.inspect import TaskDetail
from queueops.model.states import FLOWS, LEASED, State

MARGIN = 24.0
LEAST = 10.0  # around arrows
USUAL = {
    "task": ("pending", "locked", "succeeded", "failed"),
    "mapreduce": ("pending", "mapping", "aggregating", "reducing", "succeeded", "failed"),
    "chain": ("idle", "succeeded", "failed"),
    "group": ("idle", "succeeded", "failed"),
    "iterator": ("pending", "locked", "idle", "succeeded", "failed"),
}
"""The states that are drawn of a task of a kind, also those that it has not been in."""


class Box(msgspec.Struct, frozen=True):
    """A state: its box, and how many tasks are in it (or, of one task, how often it was)."""

    state: str
    left: float
    top: float
    width: int
    height: int
    count: int
    here: bool = False


class Way(msgspec.Struct, frozen=True):
    """An arrow; `rate` is what moves on it, `weight` 0..4 how thick that makes it, `spot` where that is written."""

    source: str
    target: str
    d: str
    rate: float
    weight: int
    spot: Point | None


class Picture(msgspec.Struct, frozen=True):
    """One drawing of the machine; it is cut to what is drawn."""

    name: str
    width: int
    top: float
    height: float
    boxes: tuple[Box, ...]
    ways: tuple[Way, ...]

    @property
    def inset(self) -> int:
        """How far from a box's left edge its icon stands."""
        return 11 if self.name == "wide" else 7


def draw(counts: Mapping[str, int], flows: Mapping[str, float]) -> tuple[Picture, ...]:
    """The machine, once for wide and once for narrow screens."""
    rates = {_pair(name): rate for name, rate in flows.items()}
    states = _connected() | {state for state, count in counts.items() if count}
    drawn = {layout.name: {pair: rates.get(pair, 0) for pair in _drawn(layout, rates)} for layout in LAYOUTS}
    return tuple(_picture(layout, states, counts, drawn[layout.name]) for layout in LAYOUTS)


def draw_task(task: TaskDetail) -> tuple[Picture, ...]:
    """The way that one task has gone, and where it is."""
    stays = _stays(task)
    visits = Counter(stays)
    walked = Counter(pairwise(["", *stays]))
    states = {*USUAL.get(task.kind, USUAL["task"]), task.state, *visits}
    return tuple(
        _picture(layout, states, visits, dict.fromkeys(ALWAYS[layout.name], 0) | walked, task.state)
        for layout in LAYOUTS
    )


def _picture(
    layout: Layout,
    states: Iterable[str],
    counts: Mapping[str, int],
    rates: Mapping[Pair, float],
    here: str = "",
) -> Picture:
    """`rates` has every way that is drawn between states that are shown."""
    shown = frozenset(state for state in layout.places if state in states)
    pairs = frozenset(pair for pair in rates if pair[0] != pair[1] and set(pair) <= shown | {""})
    boxes = tuple(_box(layout, state, counts.get(state, 0), state == here) for state in State if state in shown)
    ways = _ways(layout, {pair: route(layout.name, shown, pair) for pair in pairs}, rates, boxes)
    return Picture(layout.name, layout.width, *_extent(boxes, ways), boxes, tuple(way for way, _arrow in ways))


def _drawn(layout: Layout, rates: Mapping[Pair, float]) -> frozenset[Pair]:
    """The ways that are drawn always, and those with traffic, as far as there is room."""
    busy = frozenset(pair for pair, rate in rates.items() if rate)
    return ALWAYS[layout.name] | (busy & (DRAWN[layout.name] or FLOWS | busy))


def _ways(
    layout: Layout, arrows: Mapping[Pair, Arrow], rates: Mapping[Pair, float], boxes: Iterable[Box]
) -> list[tuple[Way, Arrow]]:
    """The arrows with their rates; the greatest rate is the first to choose where it is written."""
    pairs = sorted(arrows, key=lambda pair: (-rates.get(pair, 0), pair))
    wanted = [(f"{spelled(rates[pair])}/s", arrows[pair]) for pair in pairs if rates.get(pair)]
    full = [Rectangle(box.left, box.top, box.left + box.width, box.top + box.height) for box in boxes]
    spots = labels.place(wanted, full, layout.width) + [None] * (len(pairs) - len(wanted))
    return [
        (_way(pair, arrows[pair], rates.get(pair, 0), spot), arrows[pair])
        for pair, spot in zip(pairs, spots, strict=True)
    ]


def _way(pair: Pair, arrow: Arrow, rate: float, spot: Point | None) -> Way:
    weight = 0 if rate <= 0 else min(4, 1 + int(math.log10(1 + rate)))
    return Way(*pair, arrow.d, rate, weight, spot)


def _extent(boxes: tuple[Box, ...], ways: Iterable[tuple[Way, Arrow]]) -> tuple[float, float]:
    """Top and height of what is drawn."""
    heights = [y for _way, arrow in ways for _x, y in arrow.points]
    top = min([box.top - MARGIN for box in boxes] + [min(heights, default=0) - LEAST], default=0)
    low = max([box.top + box.height + MARGIN for box in boxes] + [max(heights, default=0) + LEAST], default=0)
    return round(top, 1), round(low - top, 1)


def _box(layout: Layout, state: State, count: int, here: bool) -> Box:
    (x, y), (width, height) = layout.places[state], layout.box
    return Box(str(state), x - width / 2, y - height / 2, width, height, count, here)


def _stays(task: TaskDetail) -> list[str]:
    """The states that a task was in, one after the other; a task is pending before each start, told or not."""
    stays: list[str] = []
    for state in [moment.state for moment in task.timeline if moment.state] or [task.state]:
        before = stays[-1] if stays else ""
        if state in LEASED and before != State.PENDING:
            stays.append(State.PENDING)
        if state != before:
            stays.append(state)
    return stays


def _connected() -> set[str]:
    """The states that the engine's present transitions reach."""
    return {state for pair in FLOWS for state in pair if state}


def _pair(name: str) -> tuple[str, str]:
    source, _, target = name.partition(">")
    return source, target
