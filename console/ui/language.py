"""Which language the console speaks."""

from __future__ import annotations

from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.http import HttpRequest
from django.utils.translation import get_language, gettext

SOURCE, SIGN = "en", "Operations console"


def spoken(request: HttpRequest) -> str:
    """The active language if a catalog translates the console, such as a catalog of the project; else English.

    Django's catalogs, and those of other apps, know some of its words: a page that is half in one language and half in
    another one is worse than either. Where languages are a part of addresses (`i18n_patterns`) it stays as it is, for
    links would lead to another one, which the project may not have.
    """
    in_addresses, _ = is_language_prefix_patterns_used(getattr(request, "urlconf", settings.ROOT_URLCONF))
    return (get_language() or SOURCE) if in_addresses or gettext(SIGN) != SIGN else SOURCE
