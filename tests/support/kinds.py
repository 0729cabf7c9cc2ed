"""Kinds that tests register for themselves."""

from __future__ import annotations

from typing import Any

from queueops.model.kind import Kind


def kind(name: str, package: str, **declared: Any) -> Kind:
    """A kind whose Lua stands in this package."""
    made: Kind = type(name, (Kind,), {"name": name, "__module__": package, **declared})()
    return made
