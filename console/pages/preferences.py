"""What a person chooses for this browser, and the keys that work everywhere."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from console.http import redirects
from console.ui.preferences import PACES, THEMES, Preferences, zones
from console.ui.render import page


def index(request: HttpRequest) -> HttpResponse:
    """Theme, time zone, live updates, keys."""
    return page(request, "settings.html", {"themes": THEMES, "paces": PACES, "zones": zones()})


def save(request: HttpRequest) -> HttpResponse:
    """Keep what was sent; what was not stays as it is."""
    present = Preferences.of(request)
    sent = {name: request.POST.get(name, getattr(present, name)) for name in Preferences.__struct_fields__}
    response = redirects.back(request, "settings")
    Preferences.checked(sent).keep(request, response)
    return response


def keys(request: HttpRequest) -> HttpResponse:
    """The keys and the colours, as a page: what `?` shows."""
    return page(request, "help.html")
