"""Language of the console: chooses the translation for a request."""

from __future__ import annotations

from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.http import HttpRequest
from django.utils.translation import get_language, gettext

SOURCE, SIGN = "en", "Operations console"


def spoken(request: HttpRequest) -> str:
    """The active language if a catalog translates the console, such as a catalog of the project; else English.

    Catalogs of Django and of other apps translate a few of the console's words. A page half in one language and half in
    another is worse than either. With languages in URLs (`i18n_patterns`) the active language stays. Otherwise links
    would lead to another language, which the project may not have.
    """
    in_addresses, _ = is_language_prefix_patterns_used(getattr(request, "urlconf", settings.ROOT_URLCONF))
    return (get_language() or SOURCE) if in_addresses or gettext(SIGN) != SIGN else SOURCE
