"""A task's arguments as they are shown and edited: the positional and the named ones, each as readable JSON."""

from __future__ import annotations

import json
from typing import Any

from queueops.inspect.redact import cut
from queueops.inspect.source import parameters, redactor

KEPT = 20_000
"""So many characters of arguments are kept in the audit log."""
EMPTY = ("[]", "{}")


def split(document: str) -> tuple[str, str]:
    """`[[...], {...}]` in two; what is not of that form is not taken apart: it counts as positional."""
    try:
        positional, named = json.loads(document)
    except (ValueError, TypeError):
        return document, EMPTY[1]
    return _readable(positional), _readable(named)


def shown(document: str) -> list[tuple[str, str]]:
    """The parts that hold something, with their names."""
    parts = zip(("positional", "named"), split(document), EMPTY, strict=True)
    return [(name, text) for name, text, empty in parts if text != empty]


def kept(args: list[Any], kwargs: dict[str, Any], kind: str, name: str) -> str:
    """New arguments of a task as the audit log keeps them: masked as they are when they are shown."""
    data = json.dumps([args, kwargs], ensure_ascii=False).encode("utf-8", "replace")
    return cut(redactor().document(data, parameters(kind, name)), KEPT)


def kept_data(value: Any) -> str:
    """A chunk's new data as the audit log keeps it."""
    return cut(redactor().document(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")), KEPT)


def _readable(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
