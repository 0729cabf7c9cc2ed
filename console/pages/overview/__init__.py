"""Overview page: the health of the whole system, with alarms and figures."""

from __future__ import annotations

from typing import Any, NoReturn

from django.http import Http404, HttpRequest, HttpResponse

from console.actions.operations import running, version_of_running
from console.diagram.machine import draw
from console.diagram.stuck import stuck_states
from console.pages import history
from console.pages.overview.stats import figures
from console.ui.kind_pages import panels
from console.ui.list_order import by_trouble
from console.ui.render import Frame, fragment, page
from queueops import inspect

MOST_LANES = 12
DAY_MS = 86_400_000


def index(request: HttpRequest) -> HttpResponse:
    """The whole system on one page: now, or with `?at=` at that moment."""
    at_ms = history.moment(request.GET)
    if at_ms is not None:
        past = inspect.past(at_ms, max_age_s=history.READING_AGE_S)
        return page(request, "overview/past.html", {"past": past, "seconds": past.step_ms / 1000})
    return page(request, "overview/page.html", _context())


def live(request: HttpRequest) -> HttpResponse:
    """The live update of the page, when the snapshot has changed."""
    return fragment(request, "overview/layout.html", _context())


def status(request: HttpRequest) -> HttpResponse:
    """The live update of the status head, on each page; `brief` where the page itself lists the alarms."""
    frame = Frame(request)
    context = {"version": frame.status.version + version_of_running(running(request)), "brief": "brief" in request.GET}
    return fragment(request, "partials/status.html", context)


def missing(request: HttpRequest) -> NoReturn:
    """404 for every other URL."""
    raise Http404


def _context() -> dict[str, Any]:
    snapshot = inspect.snapshot()
    yesterday = inspect.past(snapshot.taken_ms - DAY_MS, max_age_s=history.READING_AGE_S).total
    return {
        "version": snapshot.version,
        "snapshot": snapshot,
        "figures": figures(snapshot),
        "yesterday": yesterday if yesterday.known else None,
        "panels": panels(snapshot),
        "lanes": by_trouble(snapshot.lanes, snapshot.taken_ms)[:MOST_LANES],
        "machine": draw(snapshot.states, snapshot.flows, stuck_states(snapshot)),
    }
