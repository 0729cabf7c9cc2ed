"""Parts that map-reduce adds to pages: counts of chunks, lanes of chunks, and facts of a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from console.kinds.mapreduce.chunk_appearance import LOOKS
from console.ui.kind_pages import Piece
from queueops import inspect
from queueops.inspect import Snapshot, TaskDetail


def _piece(name: str, **context: Any) -> Piece:
    return Piece(template=f"console/mapreduce/{name}.html", context=context)


def overview(snapshot: Snapshot) -> Piece | None:
    """Counts of chunks by state, over all pools; None if there are no chunks."""
    counts = {state: sum(pool.chunks.get(state, 0) for pool in snapshot.pools) for state in LOOKS}
    if not any(counts.values()):
        return None
    return _piece("overview", chunk_states=[(state, look, counts[state]) for state, look in LOOKS.items()])


def out(snapshot: Snapshot) -> Piece | None:
    """How many chunks end in a second."""
    rate = sum(pool.chunk_rate for pool in snapshot.pools)
    return _piece("figure_out", rate=rate) if rate else None


def waiting(snapshot: Snapshot) -> Piece | None:
    """How much of what waits are chunks."""
    number = sum(pool.chunks_pending for pool in snapshot.pools)
    return _piece("figure_waiting", waiting=number) if number else None


def overview_lanes(snapshot: Snapshot) -> Piece | None:
    """The lanes of chunks, as rows of the table of lanes."""
    return _piece("overview_lanes", chunk_lanes=snapshot.chunk_lanes) if snapshot.chunk_lanes else None


def lanes(max_age_s: float) -> Piece | None:
    """The lanes of chunks, read up to `max_age_s` seconds ago."""
    found = inspect.chunk_lanes(max_age_s=max_age_s)
    return _piece("lanes", chunk_lanes=found) if found else None


def errors_link(_about: Any) -> Piece:
    """The link to the failed chunks of all tasks."""
    return _piece("errors_link")


def fact_start(task: TaskDetail) -> Piece | None:
    """What started last: the map or the reduce."""
    return _piece("fact_start", phase=task.phase) if task.kind == "mapreduce" else None


def fact_ran(task: TaskDetail) -> Piece | None:
    """From when to when a task ran whose map and reduce are two starts."""
    return _piece("fact_ran") if task.kind == "mapreduce" else None


def fact_generation(_task: TaskDetail) -> Piece:
    """When the generation of such a task changes."""
    return _piece("fact_generation")


PIECES: dict[str, Callable[[Any], Piece | None]] = {
    "overview": overview,
    "overview.out": out,
    "overview.waiting": waiting,
    "overview.lanes": overview_lanes,
    "lanes": lanes,
    "errors": errors_link,
    "task.facts.start": fact_start,
    "task.facts.ran": fact_ran,
    "task.facts.generation": fact_generation,
}
