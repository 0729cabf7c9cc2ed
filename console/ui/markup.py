"""Markup: HTML from a pattern and values, which are escaped, for tables that have too many cells for templates."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from django.utils.safestring import SafeString


def markup(pattern: str, *values: object, **named: object) -> SafeString:
    """Django's `format_html` in a third of its time: it does not look for lazy texts first, and translates them all."""
    return SafeString(pattern.format(*map(escaped, values), **{name: escaped(value) for name, value in named.items()}))


def joined(parts: Iterable[SafeString]) -> SafeString:
    """The parts one after the other."""
    return SafeString("".join(parts))


def escaped(value: object) -> str:
    """The value as HTML; one that is HTML already, or has its own, is not changed."""
    if isinstance(value, int | float):
        return str(value)
    own = getattr(value, "__html__", None)
    return own() if own is not None else escape(str(value))
