"""Chunk strip: one picture of a task's chunks; each column is a chunk or several, stacked by state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import msgspec

from console.kinds.mapreduce.chunk_appearance import LOOKS
from queueops.inspect import Strip
from queueops.kinds.mapreduce.states import ChunkState

HEIGHT = 100
LEAST = 14  # the least height of FAILED, ERRORED and ACTIVE: one failed chunk of 2,000 stays visible
FEW = 160  # up to this number, columns have a gap between them
STATES = tuple(ChunkState)
UPWARDS = (ChunkState.FAILED, ChunkState.ERRORED, ChunkState.ACTIVE, ChunkState.DONE, ChunkState.PENDING)
SEEN = (ChunkState.FAILED, ChunkState.ERRORED, ChunkState.ACTIVE)


class Layer(msgspec.Struct, frozen=True):
    """One state's areas, as one path."""

    state: str
    css_class: str
    d: str


class ChunkPicture(msgspec.Struct, frozen=True):
    """The drawing, one unit wide for each column."""

    width: int
    height: int
    few: bool
    layers: tuple[Layer, ...]


class Bar(msgspec.Struct, frozen=True):
    """A bar chart as one path, and the value of the highest bar."""

    width: int
    height: int
    d: str
    most: int


def draw_chunks(strip: Strip) -> ChunkPicture:
    """The picture; equal neighbouring columns are drawn as one area."""
    stacks = [_stack(column) for column in strip.columns]
    few = len(strip.columns) <= FEW
    layers = (Layer(str(state), LOOKS[state].css_class, _path(state, stacks, apart=few)) for state in UPWARDS)
    return ChunkPicture(len(strip.columns) or 1, HEIGHT, few, tuple(layer for layer in layers if layer.d))


def draw_bars(values: Sequence[int]) -> Bar | None:
    """The values as bars; None if all are zero."""
    most = max(values, default=0)
    if not most:
        return None
    heights = [max(2, round(HEIGHT * value / most)) if value else 0 for value in values]
    d = "".join(f"M{x}.1 {HEIGHT}v-{height}h.8v{height}z" for x, height in enumerate(heights) if height)
    return Bar(len(values), HEIGHT, d, most)


def _stack(column: Sequence[int]) -> dict[str, tuple[int, int]]:
    """The top and height of each state in one column."""
    count = dict(zip(STATES, column, strict=True))
    total = sum(column) or 1
    heights = {state: HEIGHT * count[state] / total for state in UPWARDS}
    for state in SEEN:
        if count[state]:
            heights[state] = max(LEAST, heights[state])
    tallest = max(heights, key=lambda state: heights[state])
    heights[tallest] -= max(0, sum(heights.values()) - HEIGHT)
    return dict(_laid(heights))


def _laid(heights: dict[ChunkState, float]) -> Iterator[tuple[str, tuple[int, int]]]:
    low = 0.0
    for state in UPWARDS:
        top = min(HEIGHT, low + heights[state])
        if round(top) > round(low):
            yield state, (HEIGHT - round(top), round(top) - round(low))
        low = top


def _path(state: str, stacks: Iterable[dict[str, tuple[int, int]]], *, apart: bool) -> str:
    """The path of one state: equal neighbouring columns as one area, or each column apart."""
    places = ((stack.get(state), index if apart else 0) for index, stack in enumerate(stacks))
    parts, x = [], 0
    for (place, _index), run in groupby(places):
        width = len(list(run))
        if place is not None:
            parts.append(f"M{x} {place[0]}h{width}v{place[1]}h-{width}z")
        x += width
    return "".join(parts)
