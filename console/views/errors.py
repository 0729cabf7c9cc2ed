"""Failures, grouped by what they have in common."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from console import chunk_refs
from console import rows as living
from console.page import fragment, page, version_of
from queueops import inspect
from queueops.inspect import ChunkDetail, ErrorRow, TaskDetail, TaskQuery

LIMIT = 100
SAMPLES = 20


def index(request: HttpRequest) -> HttpResponse:
    """All groups, the one that failed last first."""
    return page(request, "errors/page.html", _context())


def rows(request: HttpRequest) -> HttpResponse:
    """The groups again, when something has failed."""
    return fragment(request, "errors/rows.html", _context())


def show(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """One group: what it is, a sample with its traceback, and the tasks that failed with it."""
    group = next((row for row in inspect.errors(LIMIT) if row.fingerprint == fingerprint), None)
    found = inspect.tasks(TaskQuery(error=fingerprint), limit=SAMPLES)
    if group is None and not found.rows:
        raise Http404
    sample = _sample(group) if group else None
    context = {"group": group, "fingerprint": fingerprint, "found": found, "sample": sample}
    return page(request, "errors/one.html", context | {"lines": living.first(found.rows)})


def _sample(group: ErrorRow) -> TaskDetail | ChunkDetail | None:
    """The task, or the chunk of one, that failed with it and is still kept."""
    if ref := chunk_refs.read(group.sample_id):
        return inspect.chunk(ref.task, ref.number, group.pool)
    return inspect.task(group.sample_id, group.pool)


def _context() -> dict[str, Any]:
    groups = inspect.errors(LIMIT)
    version = version_of(groups, groups.broken)
    return {"groups": groups, "version": version, "live_url": f"{reverse('console:errors-rows')}?v={version}"}
