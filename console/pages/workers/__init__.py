"""Worker pages: the worker processes, and the actions on them."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from console.actions.catalog import label
from console.actions.confirmation_page import unanswered
from console.actions.perform import tell
from console.actions.selection import Choice
from console.audit.log import attempt
from console.http import redirects
from console.pages.workers.worker_actions import ACTIONS, told_before
from console.ui.forms import ActionForm
from console.ui.render import fragment, page, version_of
from queueops import inspect


def index(request: HttpRequest) -> HttpResponse:
    """All workers."""
    return page(request, "workers/page.html", _context())


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of all workers."""
    return fragment(request, "workers/rows.html", _context())


def act(request: HttpRequest, id: str, verb: str) -> HttpResponse:
    """Quiet or stop a worker, once the user has confirmed it: the console cannot undo it."""
    rows = inspect.workers()
    was = next((row for row in rows if row.id == id), None)
    if was is None:
        raise Http404
    action, choice = ACTIONS[verb], Choice((("", id),))
    if question := unanswered(request, action, choice, ActionForm(request.POST), "workers", told_before(was, rows)):
        return question
    entry = attempt(request, verb, id, lambda: action.call(id), before={"state": was.state}, after={"told": verb})
    tell(request, entry, label(entry.verb))
    return redirects.back(request, "workers")


def _context() -> dict[str, Any]:
    workers = inspect.workers()
    version = version_of(workers, workers.broken)
    return {
        "workers": workers,
        "versions": {worker.version for worker in workers},
        "version": version,
        "live_url": f"{reverse('console:workers-rows')}?v={version}",
    }
