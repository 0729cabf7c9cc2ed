"""The icons, for a project whose static files are on another host."""

from __future__ import annotations

from pathlib import Path

from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse

from console.ui.static_files import SPRITE


def show(request: HttpRequest) -> HttpResponse:
    """The sprite, from this host; 404 where the project's finders do not know it, of which a check tells."""
    found = finders.find(SPRITE)
    if not found:
        raise Http404
    return HttpResponse(Path(found).read_bytes(), content_type="image/svg+xml")
