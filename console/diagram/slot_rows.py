"""Slot rows: the runs of a worker as bars in time, a row for each slot; and its line of memory."""

from __future__ import annotations

import msgspec

from console.diagram.chart import path
from queueops.inspect import WorkerRun, WorkerView

WIDTH, HEIGHT = 1000, 24
SPAN_MS, LEAST_SPAN_MS = 3_600_000, 60_000
LEAST = 3.0  # so that a run of no time is visible
MOST_ROWS = 64


class SlotBar(msgspec.Struct, frozen=True):
    """One run: where it stands."""

    run: WorkerRun
    left: float
    width: float
    took_ms: int


class SlotRow(msgspec.Struct, frozen=True):
    """Runs one after the other; `current` goes on."""

    number: int
    bars: tuple[SlotBar, ...]
    current: WorkerRun | None = None


class Memory(msgspec.Struct, frozen=True):
    """The line of memory."""

    d: str
    area: str
    highest: int
    last: int
    from_ms: int


def begin_of(view: WorkerView) -> int:
    """The left end of the rows: the first run that is known, within the hour."""
    first = min((run.begun_ms for run in view.runs), default=view.now_ms)
    return min(max(first, view.now_ms - SPAN_MS), view.now_ms - LEAST_SPAN_MS)


def rows(view: WorkerView) -> tuple[SlotRow, ...]:
    """A row for each slot of the worker, and one more for each run that goes on beyond them; at most MOST_ROWS.

    A run begins with its claim, and its end is recorded with the next exchange of the worker. So it can overlap the
    run before it: then it stands in the row that was free first.
    """
    begin = begin_of(view)
    packed: list[list[WorkerRun]] = [[] for _ in range(min(view.row.slots, MOST_ROWS))]
    for run in view.runs:
        row = _free(packed, run)
        if row is not None:
            row.append(run)
        elif len(packed) < MOST_ROWS:
            packed.append([run])
    return tuple(
        SlotRow(
            number,
            tuple(_bar(run, begin, view.now_ms) for run in runs if _end(run) > begin),
            next((run for run in runs if run.ended_ms is None), None),
        )
        for number, runs in enumerate(packed, start=1)
    )


def memory(view: WorkerView) -> Memory | None:
    """The line; None unless two minutes are known."""
    sizes = [size for _, size in view.memory if size is not None]
    if len(sizes) < 2:
        return None
    d, area = path([None if size is None else float(size) for _, size in view.memory], max(sizes) or 1.0, 100.0)
    return Memory(d, area, max(sizes), sizes[-1], view.memory[0][0])


def _free(packed: list[list[WorkerRun]], run: WorkerRun) -> list[WorkerRun] | None:
    """The first row that is free when the run begins, or the one that is free first; None if all go on."""
    free = next((row for row in packed if not row or _end(row[-1]) <= run.begun_ms), None)
    if free is not None or not packed:
        return free
    first = min(packed, key=lambda row: _end(row[-1]))
    return None if first[-1].ended_ms is None else first


def _end(run: WorkerRun) -> float:
    return float("inf") if run.ended_ms is None else run.ended_ms


def _bar(run: WorkerRun, begin: int, now: int) -> SlotBar:
    scale = WIDTH / (now - begin)
    took = run.took_ms(now)
    left = min(max(0.0, (run.begun_ms - begin) * scale), WIDTH - LEAST)
    width = min(max(LEAST, (run.begun_ms + took - begin) * scale - left), WIDTH - left)
    return SlotBar(run, round(left, 1), round(width, 1), took)
