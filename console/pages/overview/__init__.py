"""Overview page: the health of the whole system, with alarms and figures."""

from __future__ import annotations

from typing import Any, NoReturn

from django.http import Http404, HttpRequest, HttpResponse

from console.actions.operations import running, version_of_running
from console.diagram.machine import draw
from console.diagram.stuck import stuck_states
from console.pages import history
from console.pages.overview.first_steps import first_steps
from console.pages.overview.stats import figures, is_quiet
from console.ui.kind_pages import pieces_at
from console.ui.list_order import by_trouble
from console.ui.render import ALL_LISTED, Frame, fragment, page
from queueops import inspect
from queueops.inspect import OverviewHistory, Point

MOST_LANES, MOST_ERRORS = 12, 6
READING_AGE_S = 1.0
"""So old the snapshot of a live update may be: many open pages cost the store and this process one a second."""


def index(request: HttpRequest) -> HttpResponse:
    """The whole system on one page: now, or with `?at=` at that moment."""
    at_ms = history.moment(request.GET)
    if at_ms is not None:
        moment = inspect.past(at_ms, max_age_s=history.READING_AGE_S)
        names = [row for row in moment.names if _has_figures(row.point)]
        context = {"past": moment, "names": names, "seconds": moment.step_ms / 1000}
        return page(request, "overview/past.html", context)
    context, past = _context(history.range_in(request.GET))
    given = past.series if "since" not in request.GET else None
    return page(request, "overview/page.html", context | {"region": history.region(request.GET, {}, given)})


def _has_figures(point: Point) -> bool:
    """Whether anything happened or waited then: the history has a row for each name that it knows."""
    return any((point.came, point.ended, point.failed, point.waiting, point.running))


def live(request: HttpRequest) -> HttpResponse:
    """The live update of the page, when the snapshot has changed."""
    return fragment(request, "overview/layout.html", _context(history.FIT, READING_AGE_S)[0])


def status(request: HttpRequest) -> HttpResponse:
    """The live update of the status head, on each page; `listed` says which alarms the page itself lists."""
    frame = Frame(request)
    version = frame.status.version + version_of_running(running(request))
    context = {"version": version, "listed": request.GET.get("listed", "")}
    return fragment(request, "partials/status.html", context)


def missing(request: HttpRequest) -> NoReturn:
    """404 for every other URL."""
    raise Http404


def _context(range: str, max_age_s: float = 0.0) -> tuple[dict[str, Any], OverviewHistory]:
    """What is now, and what was: all of the past is one reading."""
    snapshot = inspect.snapshot(max_age_s)
    lanes, errors = by_trouble(snapshot.lanes, snapshot.taken_ms)[:MOST_LANES], snapshot.errors[:MOST_ERRORS]
    past = inspect.overview_history(
        range,
        lanes=[(lane.pool, lane.lane) for lane in lanes],
        errors=[(error.pool, error.fingerprint) for error in errors],
        pools=[pool.name for pool in snapshot.pools],
        max_age_s=history.READING_AGE_S,
    )
    quiet = [lane for lane in lanes if is_quiet(lane, past.trends.lanes.get((lane.pool, lane.lane)))]
    steps = first_steps(snapshot, known=past.yesterday.known)
    return {
        "version": f"{snapshot.version}-{past.hour.until_ms}-{''.join(step.word for step in steps if step.done)}",
        "snapshot": snapshot,
        "several_pools": len(snapshot.pools) > 1,
        "listed": ALL_LISTED,
        "figures": figures(snapshot),
        "hour": past.hour,
        "yesterday": past.yesterday if past.yesterday.known else None,
        "trends": past.trends,
        "pieces": pieces_at("overview", snapshot),
        "steps": steps,
        "lanes": [lane for lane in lanes if lane not in quiet],
        "quiet": quiet,
        "errors": errors,
        "machine": draw(snapshot.states, snapshot.flows, stuck_states(snapshot)),
    }, past
