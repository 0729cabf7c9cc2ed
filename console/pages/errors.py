"""Error groups: failures with the same fingerprint, each group with a sample and its failed tasks."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse

from console.pages import history
from console.pages.tasks import whole_actions
from console.ui import live_list as living
from console.ui.error_groups import FILTERS, ErrorGroup, grouped
from console.ui.kind_pages import parts_of
from console.ui.links import url
from console.ui.render import Frame, fragment, live_update, page
from console.ui.triage_form import TriageForm
from queueops import inspect
from queueops.inspect import TaskList, TaskQuery

LIMIT = 100
SAMPLES = 20
READING_AGE_S = 1.0
SORTS = {"": "last_ms", "times": "count", "failed": "failed"}
"""The orders of the list, the greatest first."""


def index(request: HttpRequest) -> HttpResponse:
    """All groups, the latest failure first, or in another order."""
    return page(request, "errors/page.html", _context(request, ""))


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of the groups that the browser shows."""
    return fragment(request, "errors/rows.html", _context(request, request.GET.get("shown", "")))


def show(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """One group: its error, a sample with a traceback, and the tasks that failed with it."""
    group = group_of(fingerprint)
    if group is not None and history.moment(request.GET) is not None:  # its tasks of now do not matter then
        context = {"group": group, "fingerprint": fingerprint, "sample": _sample(group)}
        return page(request, "errors/one.html", context)
    found = inspect.browse(TaskQuery(error=fingerprint), "", SAMPLES)
    if group is None and not found.page.rows:
        raise Http404
    return page(request, "errors/one.html", _one(request, fingerprint, group, found))


def live(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """The live update of a group's figures and of the rows that the browser shows."""
    places = living.read(request.GET.get("shown", ""))
    query = TaskQuery(error=fingerprint)
    shown = [(place.pool, place.id) for place in places if place.id]
    found = inspect.browse(query, "", SAMPLES, shown, READING_AGE_S)
    since = int(given) if (given := request.GET.get("since", "")).isdecimal() and len(given) < 16 else 0
    lines = living.again(found.page.rows, places, found.shown, query, since)
    context = _figures(request, fingerprint, group_of(fingerprint), found, lines, since or lines.newest_ms)
    return fragment(request, "errors/live.html", context)


def group_of(fingerprint: str) -> ErrorGroup | None:
    """The error of this fingerprint, in all pools."""
    found = grouped(row for row in inspect.errors(LIMIT) if row.fingerprint == fingerprint)
    return next(iter(found), None)


def context_of(request: HttpRequest, group: ErrorGroup) -> dict[str, Any]:
    """The context of an error's page."""
    query = TaskQuery(error=group.fingerprint)
    return _one(request, group.fingerprint, group, inspect.browse(query, "", SAMPLES))


def _one(request: HttpRequest, fingerprint: str, group: ErrorGroup | None, found: TaskList) -> dict[str, Any]:
    lines = living.first(found.page.rows)
    context = _figures(request, fingerprint, group, found, lines, lines.newest_ms)
    retry = next((each for each in context["whole"] if each[0].verb == "retry"), None)
    return context | {
        "sample": _sample(group) if group else None,
        "retry": retry if lines.lines else None,
        "triage": TriageForm(group) if group else None,
    }


def _figures(
    request: HttpRequest, fingerprint: str, group: ErrorGroup | None, found: TaskList, lines: living.Living, since: int
) -> dict[str, Any]:
    """The figures and the rows; the number of failed tasks is of the reading that has the rows."""
    address = url("error-live", fingerprint=fingerprint)
    data = group, lines, found.page.total
    return {
        "group": group,
        "fingerprint": fingerprint,
        "failed": found.page.total,
        "lines": lines,
        "whole": whole_actions(TaskQuery(error=fingerprint), Frame(request).may),
        "full": lines.new >= SAMPLES,
        **live_update(address, *data, shown=lines.places, since=str(since)),
    }


def _sample(group: ErrorGroup) -> Any:
    """A task, or a part of one, that failed with the error and is still kept."""
    row = group.latest
    part = parts_of(row.sample_id)
    return (part.read if part is not None else inspect.task)(row.sample_id, row.pool)


def _context(request: HttpRequest, shown: str) -> dict[str, Any]:
    """The context of the list; the groups with the keys `shown` keep their places, and newer groups are counted."""
    sort = asked if (asked := request.GET.get("sort", "")) in SORTS else ""
    show = asked if (asked := request.GET.get("show", "")) in FILTERS else ""
    found = inspect.errors(LIMIT)
    known, user = grouped(found), request.user.get_username()
    fitting = [group for group in known if group.fits(show, user)]
    groups = {key(group): group for group in sorted(fitting, key=attrgetter(SORTS[sort]), reverse=True)}
    keys = [each for each in shown.split(",") if each in groups] or list(groups)
    new = len(groups) - len(keys)
    trends = inspect.trends(errors=[(row.pool, row.fingerprint) for row in found], max_age_s=history.READING_AGE_S)
    counts = [(name, label, sum(group.fits(name, user) for group in known)) for name, label in FILTERS.items()]
    data = [groups[each] for each in keys], new, found.broken, trends.all
    return {
        "trends": trends,
        "groups": [(each, groups[each]) for each in keys],
        "broken": found.broken,
        "new": new,
        "sort": sort,
        "show": show,
        "shows": [(name, label, count, url("errors", {"show": name, "sort": sort})) for name, label, count in counts],
        **live_update(url("errors-rows"), *data, shown=",".join(keys), sort=sort, show=show),
    }


def key(group: ErrorGroup) -> str:
    """A short id of a group."""
    return living.short(group.fingerprint)
