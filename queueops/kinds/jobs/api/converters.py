"""Converter of paths: an id that may have any character, such as a slash or a line break."""

from __future__ import annotations

from django.urls import register_converter


class AnyText:
    """One or more characters of any sort. Django's own `path` stops at a line break."""

    regex = r"[\s\S]+"

    def to_python(self, value: str) -> str:
        """The text of the path."""
        return value

    def to_url(self, value: str) -> str:
        """The text for a path."""
        return value


register_converter(AnyText, "any")
