"""Lane page: figures, estimate and past of one lane, what waits and runs in it, its limits, and its actions."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse

from console.ui.links import url
from console.ui.render import fragment, live_update, page
from queueops import inspect

READING_AGE_S = 1.0
"""So old the reading behind a live update may be: many open pages of one lane cost the store one reading a second."""


def show(request: HttpRequest, pool: str, lane: str) -> HttpResponse:
    """One lane."""
    return page(request, "lanes/one.html", _context(pool, lane))


def live(request: HttpRequest, pool: str, lane: str) -> HttpResponse:
    """The live update of a lane's figures and tasks."""
    return fragment(request, "lanes/live.html", _context(pool, lane, READING_AGE_S))


def _context(pool: str, lane: str, max_age_s: float = 0.0) -> dict[str, Any]:
    found = inspect.lane(pool, lane, max_age_s)
    if found is None:
        raise Http404
    update = live_update(url("lane-live", pool=pool, lane=lane), found)
    return {"found": found, "lane": found.row, **update}
