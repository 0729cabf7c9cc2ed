"""Catalogs of translations that exist for one test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from gettext import NullTranslations
from unittest.mock import patch

from django.utils import translation
from django.utils.translation import trans_real


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
    """German is active, and this function is its catalog."""
    with patch.dict(trans_real._translations, {"de": _Catalog(translate)}), translation.override("de"):
        yield
