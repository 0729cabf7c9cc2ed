"""Error groups: failures with the same fingerprint, each group with a sample and its failed tasks."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from console.pages import history
from console.pages.tasks import whole_actions
from console.ui import live_list as living
from console.ui.kind_pages import parts_of
from console.ui.render import Frame, fragment, live_update, page
from queueops import inspect
from queueops.inspect import ErrorRow, TaskList, TaskQuery

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
    group = _group(fingerprint)
    if group is not None and history.moment(request.GET) is not None:  # its tasks of now do not matter then
        context = {"group": group, "fingerprint": fingerprint, "sample": _sample(group)}
        return page(request, "errors/one.html", context)
    found = inspect.browse(TaskQuery(error=fingerprint), "", SAMPLES)
    if group is None and not found.page.rows:
        raise Http404
    lines = living.first(found.page.rows)
    context = _figures(request, fingerprint, group, found, lines, lines.newest_ms)
    return page(request, "errors/one.html", context | {"sample": _sample(group) if group else None})


def live(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """The live update of a group's figures and of the rows that the browser shows."""
    places = living.read(request.GET.get("shown", ""))
    query = TaskQuery(error=fingerprint)
    shown = [(place.pool, place.id) for place in places if place.id]
    found = inspect.browse(query, "", SAMPLES, shown, READING_AGE_S)
    since = int(given) if (given := request.GET.get("since", "")).isdecimal() and len(given) < 16 else 0
    lines = living.again(found.page.rows, places, found.shown, query, since)
    context = _figures(request, fingerprint, _group(fingerprint), found, lines, since or lines.newest_ms)
    return fragment(request, "errors/live.html", context)


def _group(fingerprint: str) -> ErrorRow | None:
    return next((row for row in inspect.errors(LIMIT) if row.fingerprint == fingerprint), None)


def _figures(
    request: HttpRequest, fingerprint: str, group: ErrorRow | None, found: TaskList, lines: living.Living, since: int
) -> dict[str, Any]:
    """The figures and the rows; the number of failed tasks is of the reading that has the rows."""
    address = reverse("console:error-live", kwargs={"fingerprint": fingerprint})
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


def _sample(group: ErrorRow) -> Any:
    """A task, or a part of one, that failed with the error and is still kept."""
    part = parts_of(group.sample_id)
    return (part.read if part is not None else inspect.task)(group.sample_id, group.pool)


def _context(request: HttpRequest, shown: str) -> dict[str, Any]:
    """The context of the list; the groups with the keys `shown` keep their places, and newer groups are counted."""
    sort = asked if (asked := request.GET.get("sort", "")) in SORTS else ""
    found = inspect.errors(LIMIT)
    groups = {key(group): group for group in sorted(found, key=attrgetter(SORTS[sort]), reverse=True)}
    keys = [each for each in shown.split(",") if each in groups] or list(groups)
    new = len(groups) - len(keys)
    trends = inspect.trends(
        errors=[(group.pool, group.fingerprint) for group in found], max_age_s=history.READING_AGE_S
    )
    data = [groups[each] for each in keys], new, found.broken, trends.all
    return {
        "trends": trends,
        "groups": [(each, groups[each]) for each in keys],
        "broken": found.broken,
        "new": new,
        "sort": sort,
        **live_update(reverse("console:errors-rows"), *data, shown=",".join(keys), sort=sort),
    }


def key(group: ErrorRow) -> str:
    """A short id of a group; it differs between pools with the same fingerprint."""
    return living.short(f"{group.pool} {group.fingerprint}")
