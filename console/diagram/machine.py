"""The whole machine, with counts on its states and rates on the ways between them; or one task's own way."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

import msgspec

from console.diagram.layout import ALWAYS, LAYOUTS, SPINE, Layout
from console.diagram.path import Arrow, arriving, between, leaving
from queueops.inspect import TaskDetail
from queueops.states import FLOWS, LEASED, State

MARGIN = 24.0
USUAL = {
    "task": ("pending", "locked", "succeeded", "failed"),
    "mapreduce": ("pending", "mapping", "aggregating", "reducing", "succeeded", "failed"),
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
    """An arrow; `rate` is what moves on it, `weight` 0..4 how thick that makes it."""

    source: str
    target: str
    d: str
    x: float
    y: float
    rate: float
    weight: int
    usual: bool


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
    return tuple(_picture(layout, states, counts, rates, ALWAYS[layout.name]) for layout in LAYOUTS)


def draw_task(task: TaskDetail) -> tuple[Picture, ...]:
    """The way that one task has gone, and where it is."""
    stays = _stays(task)
    visits = Counter(stays)
    walked = Counter(pairwise(["", *stays]))
    states = {*USUAL.get(task.kind, USUAL["task"]), task.state, *visits}
    spines = {name: frozenset(pair for pair in ways if set(pair) <= states) for name, ways in ALWAYS.items()}
    return tuple(_picture(layout, states, visits, walked, spines[layout.name], task.state) for layout in LAYOUTS)


def _picture(
    layout: Layout,
    states: Iterable[str],
    counts: Mapping[str, int],
    rates: Mapping[tuple[str, str], float],
    spine: frozenset[tuple[str, str]],
    here: str = "",
) -> Picture:
    shown = {state for state in layout.places if state in states}
    pairs = {pair for pair in FLOWS | rates.keys() if pair in spine or rates.get(pair)}
    ways = (
        _way(layout, source, target, rates.get((source, target), 0))
        for source, target in sorted(pairs)
        if source != target and {source, target} <= shown | {""}
    )
    boxes = tuple(_box(layout, state, counts.get(state, 0), state == here) for state in State if state in shown)
    return Picture(layout.name, layout.width, *_extent(boxes), boxes, tuple(ways))


def _extent(boxes: tuple[Box, ...]) -> tuple[float, float]:
    """Top and height of what is drawn."""
    top = min((box.top for box in boxes), default=0) - MARGIN
    return top, max((box.top + box.height for box in boxes), default=0) + MARGIN - top


def _box(layout: Layout, state: State, count: int, here: bool) -> Box:
    (x, y), (width, height) = layout.places[state], layout.box
    return Box(str(state), x - width / 2, y - height / 2, width, height, count, here)


def _way(layout: Layout, source: str, target: str, rate: float) -> Way:
    arrow = _arrow(layout, source, target)
    weight = 0 if rate <= 0 else min(4, 1 + int(math.log10(1 + rate)))
    return Way(source, target, arrow.d, arrow.label[0], arrow.label[1], rate, weight, (source, target) in SPINE)


def _arrow(layout: Layout, source: str, target: str) -> Arrow:
    if not source:
        return arriving(layout.places[State(target)], layout.box)
    if not target:
        return leaving(layout.places[State(source)], layout.box)
    return between(layout.places[State(source)], layout.places[State(target)], layout.box)


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
