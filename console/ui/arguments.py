"""Task arguments: positional and named ones as separate, readable JSON, for display and editing."""

from __future__ import annotations

import json

EMPTY = ("[]", "{}")


def split(document: str) -> tuple[str, str]:
    """Split `[[...], {...}]` in two; any other value is kept whole as the positional part."""
    try:
        positional, named = json.loads(document)
    except (ValueError, TypeError):
        return document, EMPTY[1]
    return _readable(positional), _readable(named)


def shown(document: str) -> list[tuple[str, str]]:
    """The parts that are not empty, with their names."""
    parts = zip(("positional", "named"), split(document), EMPTY, strict=True)
    return [(name, text) for name, text, empty in parts if text != empty]


def _readable(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
