"""Names in paths: the ids of tasks, lanes and workers may hold a `/`, or be a dot, and still are one segment."""

from __future__ import annotations

from django.urls import register_converter

from queueops.model.ids import ID


class NameConverter:
    """One segment of a path: `/` is written as `~`, which no name has; `.`, `..` and the empty name begin with a `!`.

    The empty name is garbage of the store: its page is not found, and the pages that list it are shown.
    """

    regex = r"[^/]+"

    def to_python(self, value: str) -> str:
        """The name; ValueError (so: 404) when it can be none."""
        name = value.removeprefix("!").replace("~", "/")
        if not ID.fullmatch(name):
            raise ValueError(f"no name: {value}")
        return name

    def to_url(self, value: str) -> str:
        """The segment."""
        return f"!{value}" if value in ("", ".", "..") else str(value).replace("/", "~")


def register() -> None:
    """Make `<name:...>` known to the resolver."""
    register_converter(NameConverter, "name")
