"""Path converter: encodes the name of a task, lane or worker as one URL segment, even with a `/` in it."""

from __future__ import annotations

from django.urls import register_converter

from queueops.model.ids import ID


class NameConverter:
    """One URL segment: `/` is written as `~`, which names cannot hold; `.`, `..` and the empty name get the prefix `!`.

    An empty name in the store is an invalid entry: its page answers 404, but the pages that list it are shown.
    """

    regex = r"[^/]+"

    def to_python(self, value: str) -> str:
        """Decode the segment; an invalid name raises ValueError, which becomes a 404."""
        name = value.removeprefix("!").replace("~", "/")
        if not ID.fullmatch(name):
            raise ValueError(f"no name: {value}")
        return name

    def to_url(self, value: str) -> str:
        """Encode the name as a segment."""
        return f"!{value}" if value in ("", ".", "..") else str(value).replace("/", "~")


def register() -> None:
    """Register the converter for `<name:...>`."""
    register_converter(NameConverter, "name")
