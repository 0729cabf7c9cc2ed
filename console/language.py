"""Which language the console speaks."""

from __future__ import annotations

from django.utils.translation import get_language, gettext

SOURCE, SIGN = "en", "Operations console"


def spoken() -> str:
    """The active language where somebody has translated the console, a project by its own catalog, say; else English.

    Django's catalogs, and those of other apps, know some of its words: a page that is half in one language and half in
    another one is worse than either.
    """
    return (get_language() or SOURCE) if gettext(SIGN) != SIGN else SOURCE
