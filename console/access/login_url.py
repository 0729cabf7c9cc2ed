"""Login URL: the project's own page when LOGIN_URL names one, else the console's."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.http import HttpRequest
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils.http import urlencode


def is_ours() -> bool:
    """Whether users log in at the console's page; if the project has a page, it must not be bypassed."""
    named = settings.is_overridden("LOGIN_URL")  # type: ignore[misc]  # the stubs do not know it
    return not named or resolve_url(settings.LOGIN_URL) == reverse("console:login")


def address(request: HttpRequest, back: str) -> str:
    """The URL of the login page, with `next` set to a path of the console."""
    if is_ours():
        return f"{reverse('console:login')}?{urlencode({'next': back})}"
    parts = urlsplit(resolve_url(settings.LOGIN_URL))
    if parts.netloc:
        back = request.build_absolute_uri(back)
    query = "&".join(filter(None, (parts.query, urlencode({"next": back}))))
    return urlunsplit(parts._replace(query=query))
