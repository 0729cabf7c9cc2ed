"""Icon sprite: served by the console if the project's static files are on another host."""

from __future__ import annotations

from pathlib import Path

from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse

from console.ui.static_files import SPRITE


def show(request: HttpRequest) -> HttpResponse:
    """The sprite, from this host; 404 if the project's finders do not find it, which a system check reports."""
    found = finders.find(SPRITE)
    if not found:
        raise Http404
    return HttpResponse(Path(found).read_bytes(), content_type="image/svg+xml")
