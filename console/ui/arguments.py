"""A task's arguments as they are shown and edited: the positional and the named ones, each as readable JSON."""

from __future__ import annotations

import json

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


def _readable(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
