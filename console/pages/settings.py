"""Settings page: a user's preferences, and the keys that work everywhere."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.i18n import set_language

from console.http import redirects
from console.ui.columns import keep_columns
from console.ui.preferences import PACES, THEMES, Preferences, zones
from console.ui.render import page


def index(request: HttpRequest) -> HttpResponse:
    """The page: theme, time zone, live updates, keys."""
    return page(request, "settings.html", {"themes": THEMES, "paces": PACES, "zones": zones()})


def save(request: HttpRequest) -> HttpResponse:
    """Save the values that were sent; the others stay. The language is kept by Django, for the whole project."""
    if "language" in request.POST:
        return set_language(request)
    present = Preferences.of(request)
    sent = {name: request.POST.get(name, getattr(present, name)) for name in Preferences.__struct_fields__}
    if "columns" in request.POST:  # one box for each column
        keep_columns(request.user, filter(None, request.POST.getlist("columns")), request.POST.get("sort"))
    response = redirects.back(request, "settings")
    Preferences.checked(sent).keep(request, response)
    return response


def keys(request: HttpRequest) -> HttpResponse:
    """The keys and colours as a page, which the key `?` opens."""
    return page(request, "help.html")
