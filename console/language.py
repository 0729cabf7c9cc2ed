"""Which language the console speaks."""

from __future__ import annotations

from django.urls import reverse
from django.utils.translation import get_language, gettext, override

SOURCE, SIGN = "en", "Operations console"


def spoken() -> str:
    """The active language where somebody has translated the console, a project by its own catalog, say; else English.

    Django's catalogs, and those of other apps, know some of its words: a page that is half in one language and half in
    another one is worse than either. Where the language is a part of the console's addresses it stays as it is.
    """
    active = get_language() or SOURCE
    return active if gettext(SIGN) != SIGN or _is_in_addresses() else SOURCE


def _is_in_addresses() -> bool:
    """Whether the project has put the console into `i18n_patterns`."""
    here = reverse("console:overview")
    with override(SOURCE):
        return reverse("console:overview") != here
