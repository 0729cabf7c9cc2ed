"""Language of the console: the user's choice or that of the project, if a catalog translates the console into it."""

from __future__ import annotations

import gettext
from functools import lru_cache

from django.apps import apps
from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.http import HttpRequest
from django.utils.translation import get_language_info, get_supported_language_variant, to_locale

from queueops.model.sentences import ENGLISH as SOURCE
from queueops.model.sentences import language

SIGN = "Operations console"


def spoken(request: HttpRequest) -> str:
    """The language of a request if a catalog translates the console into it; else English.

    The user's choice is Django's language cookie, also in a project without `LocaleMiddleware`. Catalogs of Django and
    of other apps translate a few of the console's words. A page half in one language and half in another is worse than
    either. With languages in URLs (`i18n_patterns`) the active language stays. Otherwise links would lead to another
    language, which the project may not have.
    """
    active = language()
    in_addresses, _ = is_language_prefix_patterns_used(getattr(request, "urlconf", settings.ROOT_URLCONF))
    if in_addresses:
        return active
    wanted = _chosen(request) or active
    return wanted if settings.USE_I18N and wanted != SOURCE and _is_translated(wanted, _catalogs()) else SOURCE


def offered() -> list[tuple[str, str]]:
    """The languages of the setting LANGUAGES in which the console can be read: code, and name in that language."""
    names = dict(settings.LANGUAGES) if settings.USE_I18N else {}
    return [(code, _name_of(code, str(names[code]))) for code in _offered(tuple(names), _catalogs())]


@lru_cache(maxsize=16)
def _offered(codes: tuple[str, ...], folders: tuple[str, ...]) -> tuple[str, ...]:
    english = next((code for code in codes if code.partition("-")[0] == SOURCE), "")
    return tuple(code for code in codes if code == english or _is_translated(code, folders))


def _chosen(request: HttpRequest) -> str:
    try:
        return get_supported_language_variant(request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "").lower())
    except LookupError:
        return ""


def _catalogs() -> tuple[str, ...]:
    """The folders in which Django looks for catalogs, without its own."""
    of_apps = (f"{app.path}/locale" for app in apps.get_app_configs() if not app.name.startswith("django."))
    return (*map(str, settings.LOCALE_PATHS), *of_apps)


@lru_cache(maxsize=256)
def _is_translated(code: str, folders: tuple[str, ...]) -> bool:
    """Whether one of these catalogs has the sign. Django's `gettext` would also look in that of LANGUAGE_CODE."""
    found = (gettext.translation("django", folder, [to_locale(code)], fallback=True) for folder in folders)
    return any(each.gettext(SIGN) != SIGN for each in found)


def _name_of(code: str, name: str) -> str:
    try:
        return str(get_language_info(code)["name_local"])
    except KeyError:  # a language that Django does not know
        return name
