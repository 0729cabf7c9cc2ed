"""Static files: their host, by the project's STATIC_URL or storage, and the URL of the icon sprite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import urlsplit

from django.templatetags.static import static
from django.urls import reverse

SPRITE = "vendor/icons/icons.svg"
_OF_PAGE: ContextVar[str] = ContextVar("queueops_sprite")


def origin() -> str:
    """The scheme and host of the static files; empty if they are on the console's own host."""
    try:
        found = urlsplit(static(SPRITE))
    except ValueError:  # the manifest is missing: the page itself reports that
        return ""
    return f"{found.scheme}://{found.netloc}".removeprefix("://") if found.netloc else ""


def sprite() -> str:
    """The URL of the icon sprite. Browsers refuse a sprite of another host; then the console serves it."""
    return _OF_PAGE.get("") or _asked()


@contextmanager
def one_sprite() -> Iterator[None]:
    """Ask the project's storage once for the URL of the sprite, for all icons of a page."""
    token = _OF_PAGE.set(_asked())
    try:
        yield
    finally:
        _OF_PAGE.reset(token)


def _asked() -> str:
    return reverse("console:icons") if origin() else static(SPRITE)
