"""Registry pages: the tasks that can be pushed, and a page for each task name with its figures, runs and errors."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from msgspec.structs import replace

from console.diagram.run_bars import HEIGHT, WIDTH, bars
from console.pages import history
from console.ui.render import fragment, live_update, page
from queueops import inspect
from queueops.inspect import NameView

READING_AGE_S = 1.0
"""So old the reading behind a live update may be: many open pages of one name cost the store one reading a second."""


def index(request: HttpRequest) -> HttpResponse:
    """All tasks, by name."""
    return page(request, "registry/page.html", _context())


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of all tasks."""
    return fragment(request, "registry/rows.html", _context())


def show(request: HttpRequest, id: str) -> HttpResponse:
    """One task name: figures, runs, errors, lanes, schedules; its signature, docstring, options and workers."""
    found = _named(id)
    is_past = history.moment(request.GET) is not None  # then what is scheduled now does not matter
    schedules = [] if is_past else [row for row in inspect.schedules() if row.task == id]
    context = {"task": found.known, "schedules": schedules, **_figures(found)}
    return page(request, "registry/one.html", context)


def live(request: HttpRequest, id: str) -> HttpResponse:
    """The live update of a name's figures, runs, lanes and errors."""
    return fragment(request, "registry/live.html", _figures(_named(id, READING_AGE_S)))


def _named(id: str, max_age_s: float = 0.0) -> NameView:
    found = inspect.task_name(id, max_age_s)
    if found is None:
        raise Http404
    return found


def _figures(found: NameView) -> dict[str, Any]:
    drawn = bars(found.runs, found.now_ms)
    update = live_update(reverse("console:registry-task-live", kwargs={"id": found.name}), replace(found, now_ms=0))
    return {"name": found, "bars": drawn, "bars_width": max(1, len(drawn)) * WIDTH, "bars_height": HEIGHT, **update}


def _context() -> dict[str, Any]:
    known = inspect.registry()
    trends = inspect.name_trends((task.name for task in known), max_age_s=history.READING_AGE_S)
    update = live_update(reverse("console:registry-rows"), known, known.broken, trends)
    return {"known": known, "trends": trends, **update}
