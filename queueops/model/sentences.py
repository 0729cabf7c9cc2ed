"""Translatable sentences: English texts of the engine that keep the pattern and the values they are made of.

    say("Pool %(pool)s: %(tasks)s.", pool="mail", tasks=say_n("%(n)s task waits", "%(n)s tasks wait", 3))

Such a text is a `str` in English, for the terminal, logs, JSON and stored data. In HTML it is shown in the active
language: catalogs of translations know it by its pattern, and values may be sentences themselves. Operations of `str`,
such as slices and f-strings, give plain English text.

The patterns are literals, so that `xgettext --keyword=say --keyword=say_n:1,2` finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from html import escape
from typing import Any, Self

from django.conf import settings
from django.utils.formats import get_format
from django.utils.translation import get_language, gettext, ngettext, pgettext

ENGLISH = "en"


class Translatable(str):
    """English text that a page shows in the reader's language."""

    __slots__ = ()

    def translated(self) -> str:
        """The text in the active language."""
        return str(self)

    def altered(self, text: str) -> str:
        """The same with another English text, as a mask has made it."""
        return text

    def __html__(self) -> str:
        """The text in the active language, escaped: Django's templates and `format_html` show it so."""
        return escape(self.translated())


class Figure(Translatable):
    """A number in English, with its unit: `4.2 s`, `12,345`, `2.5/s`. Languages have other separators."""

    __slots__ = ()

    def translated(self) -> str:
        """The number with the separators of the active language."""
        return self.translate(_separators())


class Moment(Translatable):
    """A time in UTC, to the second: `2026-11-20 12:37:09Z`. Languages write dates in other ways."""

    __slots__ = ("at",)
    at: datetime

    def __new__(cls, at: datetime) -> Self:
        """Write the time for programs and for readers of English."""
        made = super().__new__(cls, at.strftime("%Y-%m-%d %H:%M:%SZ"))
        made.at = at
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        """What a copy is made of."""
        return (self.at,)

    def translated(self) -> str:
        """The time as the active language writes its date."""
        if language() == ENGLISH:
            return str(self)
        return self.at.strftime(pgettext("date, for strftime", "%Y-%m-%d") + " %H:%M:%S UTC")


class Sentence(Translatable):
    """A pattern with its values; of a plural `plural` is the pattern of many, and `number` decides."""

    __slots__ = ("number", "pattern", "plural", "values")
    pattern: str
    plural: str
    number: int
    values: Mapping[str, str]

    def __new__(cls, pattern: str, values: Mapping[str, str | int], plural: str = "", number: int = 0) -> Self:
        """Fill the English pattern. Whole numbers get separators."""
        told = {name: value if isinstance(value, str) else Figure(f"{value:,}") for name, value in values.items()}
        made = super().__new__(cls, (plural if plural and number != 1 else pattern) % told)
        made.pattern, made.values, made.plural, made.number = pattern, told, plural, number
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        """What a copy is made of."""
        return self.pattern, self.values, self.plural, self.number

    def translated(self) -> str:
        """The text in the active language; English if its translation has a placeholder without a value."""
        pattern = ngettext(self.pattern, self.plural, self.number) if self.plural else gettext(self.pattern)
        try:
            return pattern % {name: translated(value) for name, value in self.values.items()}
        except (KeyError, ValueError, TypeError):
            return str(self)


def say(pattern: str, /, **values: str | int) -> Sentence:
    """A sentence: its pattern in English, with a placeholder `%(name)s` for each value. A percent sign is `%%`."""
    return Sentence(pattern, values)


def say_n(one: str, many: str, n: int, /, **values: str | int) -> Sentence:
    """A sentence about a number, which is the value `%(n)s`."""
    return Sentence(one, {"n": n, **values}, many, n)


def marked(pattern: str) -> str:
    """The pattern itself: `xgettext --keyword=marked` finds it. Its sentences are written elsewhere, such as in Lua."""
    return pattern


def join(*parts: str, by: str = " ") -> Sentence:
    """The sentences or texts one after the other, without empty ones."""
    told = {f"_{number}": part for number, part in enumerate(filter(None, parts))}
    return Sentence(by.replace("%", "%%").join(f"%({name})s" for name in told), told)


def masked(text: str, hide: Callable[[str], str]) -> str:
    """The text without secrets: a sentence if its values without theirs make the same text."""
    shown = hide(text)
    if shown == text:
        return text
    if not isinstance(text, Sentence):
        return text.altered(shown) if isinstance(text, Translatable) else shown
    values = {name: masked(value, hide) for name, value in text.values.items()}
    without = Sentence(text.pattern, values, text.plural, text.number)
    return without if without == shown else shown


def translated(text: str) -> str:
    """The text in the active language, if it is one of the engine; else as it is."""
    return text.translated() if isinstance(text, Translatable) else text


def encodable(value: object) -> str:
    """Encoding hook for msgspec, which refuses subclasses of `str`: the English text of a sentence."""
    if isinstance(value, Translatable):
        return str(value)
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


def language() -> str:
    """The active language; English in a project without translations."""
    return (get_language() or ENGLISH) if settings.USE_I18N else ENGLISH


def _separators() -> dict[int, str]:
    """What separates thousands and decimals in the active language, instead of the English comma and point."""
    thousand, decimal = (get_format(name, language()) for name in ("THOUSAND_SEPARATOR", "DECIMAL_SEPARATOR"))
    return {ord(","): thousand, ord("."): decimal}
