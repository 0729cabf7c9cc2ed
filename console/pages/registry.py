"""Registry pages: the tasks that can be pushed, and the workers that know them."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from console.ui.render import fragment, live_update, page
from queueops import inspect


def index(request: HttpRequest) -> HttpResponse:
    """All tasks, by name."""
    return page(request, "registry/page.html", _context())


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of all tasks."""
    return fragment(request, "registry/rows.html", _context())


def show(request: HttpRequest, id: str) -> HttpResponse:
    """One task: its docstring, its options, and the workers that know it."""
    found = next((row for row in inspect.registry() if row.name == id), None)
    if found is None:
        raise Http404
    return page(request, "registry/one.html", {"task": found})


def _context() -> dict[str, Any]:
    known = inspect.registry()
    return {"known": known, **live_update(reverse("console:registry-rows"), known, known.broken)}
