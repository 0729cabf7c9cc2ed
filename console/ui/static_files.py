"""Where the console's static files are: mostly on its own host, else where the project's STATIC_URL or storage says."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.templatetags.static import static
from django.urls import reverse

SPRITE = "vendor/icons/icons.svg"


def origin() -> str:
    """The scheme and host of the static files where that is another one; empty where they are on the console's own."""
    try:
        found = urlsplit(static(SPRITE))
    except ValueError:  # a manifest that was never made: the page itself says so
        return ""
    return f"{found.scheme}://{found.netloc}".removeprefix("://") if found.netloc else ""


def sprite() -> str:
    """The address of the icons. No browser takes them out of a file of another host: then the console gives them."""
    return reverse("console:icons") if origin() else static(SPRITE)
