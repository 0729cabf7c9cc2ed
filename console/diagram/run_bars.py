"""Run bars: the latest runs of a task name as bars, from left to right; their heights are logarithmic."""

from __future__ import annotations

from math import log1p

import msgspec

from queueops.inspect import NameRun

WIDTH, HEIGHT = 10, 60
PLACES = 60  # a few bars stand at the right
LEAST = 5.0  # so that a run of no time is visible


class Bar(msgspec.Struct, frozen=True):
    """One run: where it stands, and how high."""

    run: NameRun
    left: int
    top: float
    height: float
    took_ms: int


def bars(runs: tuple[NameRun, ...], now_ms: int) -> list[Bar]:
    """A bar for each run; the longest has the full height."""
    took = [run.took_ms(now_ms) for run in runs]
    longest = log1p(max(took, default=0)) or 1.0
    free = max(0, PLACES - len(runs))
    heights = [round(LEAST + (HEIGHT - LEAST) * log1p(ms) / longest, 1) for ms in took]
    return [
        Bar(run, WIDTH * (free + place), round(HEIGHT - height, 1), height, ms)
        for place, (run, height, ms) in enumerate(zip(runs, heights, took, strict=True))
    ]
