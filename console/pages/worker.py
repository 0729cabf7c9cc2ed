"""Worker page: one process with its slots, its runs as bars in time, its memory, and its actions."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from msgspec.structs import replace

from console.diagram import slot_rows
from console.pages import history
from console.ui.links import url
from console.ui.render import fragment, live_update, page
from queueops import inspect

READING_AGE_S = 1.0
"""So old the reading behind a live update may be: many open pages of one worker cost the store one reading a second."""


def show(request: HttpRequest, id: str) -> HttpResponse:
    """One worker; of one that has ended, what the history has."""
    try:
        context = _context(id)
    except Http404:
        return page(request, "workers/ended.html", _of_the_past(request, id))
    return page(request, "workers/one.html", context)


def live(request: HttpRequest, id: str) -> HttpResponse:
    """The live update of a worker's figures, slots and memory."""
    return fragment(request, "workers/live.html", _context(id, READING_AGE_S))


def _of_the_past(request: HttpRequest, id: str) -> dict[str, Any]:
    """The history of a worker that is not in the registry any more. Raises Http404 if there is none."""
    region = history.region(request.GET, {"worker": id})
    series = region["series"]
    if series.known_since_ms is None:
        series = inspect.series("14d", worker=id, max_age_s=history.READING_AGE_S)
    is_known = series.known_since_ms is not None or region.get("point") is not None
    if not is_known and not any(hit.name == id for hit in inspect.look_up(id).workers):  # it ended in its first minute
        raise Http404
    return {"id": id, "region": region}


def _context(id: str, max_age_s: float = 0.0) -> dict[str, Any]:
    found = inspect.worker(id, max_age_s)
    if found is None:
        raise Http404
    update = live_update(url("worker-live", id=id), replace(found, now_ms=0))
    return {
        "found": found,
        "worker": found.row,
        "pool": next(iter(found.row.pools), ""),  # the history of its first pool has it
        "slots": slot_rows.rows(found),
        "from_ms": slot_rows.begin_of(found),
        "memory": slot_rows.memory(found),
        **update,
    }
