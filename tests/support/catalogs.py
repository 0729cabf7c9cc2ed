"""Catalogs of translations that exist for one test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from gettext import NullTranslations
from unittest.mock import patch

from django.template.autoreload import reset_loaders
from django.utils import translation
from django.utils.translation import trans_real

from console.ui import kept_parts


class _Catalog(NullTranslations):
    """Translates each message by a function."""

    def __init__(self, translate: Callable[[str], str]) -> None:
        super().__init__()
        self.translate = translate

    def gettext(self, message: str) -> str:
        return self.translate(message)

    def ngettext(self, one: str, many: str, n: int) -> str:
        return self.translate(one if n == 1 else many)

    def to_language(self) -> str:
        return "de"


@contextmanager
def german(translate: Callable[[str], str]) -> Iterator[None]:
    """German is active, and this function is its catalog. Pages keep no words of another catalog, before and after."""
    _forget()
    try:
        with patch.dict(trans_real._translations, {"de": _Catalog(translate)}), translation.override("de"):
            yield
    finally:
        _forget()


def _forget() -> None:
    """Forget templates, which keep their constant texts in each language, and parts of pages."""
    reset_loaders()
    kept_parts._rendered.cache_clear()
    kept_parts._large.cache_clear()
