"""The processes that do the work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from console import returning
from console.act import tell
from console.audit import attempt
from console.deeds import label
from console.page import fragment, page, version_of
from queueops import control, inspect


def index(request: HttpRequest) -> HttpResponse:
    """All workers."""
    return page(request, "workers/page.html", _context())


def rows(request: HttpRequest) -> HttpResponse:
    """All workers again, when something has changed."""
    return fragment(request, "workers/rows.html", _context())


def quiet(request: HttpRequest, id: str) -> HttpResponse:
    """Let a worker end what it runs, and take nothing new."""
    return _act(request, "quiet", id, control.quiet_worker)


def stop(request: HttpRequest, id: str) -> HttpResponse:
    """End a worker: it has its grace time, then its tasks go back to their lanes."""
    return _act(request, "stop", id, control.stop_worker)


def _act(request: HttpRequest, verb: str, id: str, call: Callable[[str], Any]) -> HttpResponse:
    was = next((row for row in inspect.workers() if row.id == id), None)
    if was is None:
        raise Http404
    entry = attempt(request, verb, id, lambda: call(id), before={"state": was.state}, after={"told": verb})
    tell(request, entry, label(entry.verb))
    return returning.back(request, "workers")


def _context() -> dict[str, Any]:
    workers = inspect.workers()
    version = version_of(workers, workers.broken)
    return {
        "workers": workers,
        "versions": {worker.version for worker in workers},
        "version": version,
        "live_url": f"{reverse('console:workers-rows')}?v={version}",
    }
