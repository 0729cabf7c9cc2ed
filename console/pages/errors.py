"""Error groups: failures with the same fingerprint, each group with a sample and its failed tasks."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from console.ui import live_list as living
from console.ui.links import chunk_of
from console.ui.render import fragment, live_update, page
from queueops import inspect
from queueops.inspect import ChunkDetail, ErrorRow, TaskDetail, TaskQuery

LIMIT = 100
SAMPLES = 20
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
    found = inspect.tasks(TaskQuery(error=fingerprint), limit=SAMPLES)
    if group is None and not found.rows:
        raise Http404
    context = _figures(fingerprint, group) | {"found": found, "sample": _sample(group) if group else None}
    return page(request, "errors/one.html", context | {"lines": living.first(found.rows)})


def live(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """The live update of a group's figures."""
    return fragment(request, "errors/figures.html", _figures(fingerprint, _group(fingerprint)))


def _group(fingerprint: str) -> ErrorRow | None:
    return next((row for row in inspect.errors(LIMIT) if row.fingerprint == fingerprint), None)


def _figures(fingerprint: str, group: ErrorRow | None) -> dict[str, Any]:
    address = reverse("console:error-live", kwargs={"fingerprint": fingerprint})
    return {"group": group, "fingerprint": fingerprint, **live_update(address, group)}


def _sample(group: ErrorRow) -> TaskDetail | ChunkDetail | None:
    """A task or chunk that failed with the error and is still kept."""
    if ref := chunk_of(group.sample_id):
        return inspect.chunk(ref.task, ref.number, group.pool)
    return inspect.task(group.sample_id, group.pool)


def _context(request: HttpRequest, shown: str) -> dict[str, Any]:
    """The context of the list; the groups with the keys `shown` keep their places, and newer groups are counted."""
    sort = asked if (asked := request.GET.get("sort", "")) in SORTS else ""
    found = inspect.errors(LIMIT)
    groups = {key(group): group for group in sorted(found, key=attrgetter(SORTS[sort]), reverse=True)}
    keys = [each for each in shown.split(",") if each in groups] or list(groups)
    new = len(groups) - len(keys)
    data = [groups[each] for each in keys], new, found.broken
    return {
        "groups": [(each, groups[each]) for each in keys],
        "broken": found.broken,
        "new": new,
        "sort": sort,
        **live_update(reverse("console:errors-rows"), *data, shown=",".join(keys), sort=sort),
    }


def key(group: ErrorRow) -> str:
    """A short id of a group; it differs between pools with the same fingerprint."""
    return living.short(f"{group.pool} {group.fingerprint}")
