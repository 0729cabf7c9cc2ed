"""Hiding what must not be seen: values whose key matches one of the patterns of the setting REDACT.

Pure: bytes or text in, text out. A pattern is a part of the key's name, in any case: `token` hides `Api-Token` too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

MASK = "[redacted]"
DEEPEST = 40  # nesting that is still looked at; what lies deeper is masked whole
ELLIPSIS = "…"


class Redactor:
    """Hides values by the names of their keys."""

    def __init__(self, patterns: Iterable[str]) -> None:
        words = [re.escape(pattern) for pattern in patterns if pattern]
        self._key = re.compile("|".join(words), re.IGNORECASE) if words else None
        self._pair = (
            re.compile(rf"((?:{'|'.join(words)})[^\s\"'=:]*[\"']?\s*[:=]\s*)(\"[^\"]*\"?|'[^']*'?|[^\s,;&}}]+)", re.I)
            if words
            else None
        )

    def hides(self, key: object) -> bool:
        """Whether a value under this key must not be seen."""
        return self._key is not None and self._key.search(str(key)) is not None

    def value(self, value: Any, depth: int = 0) -> Any:
        """The same structure, with the values of matching keys masked."""
        if depth > DEEPEST:
            return MASK
        if isinstance(value, dict):
            return {key: MASK if self.hides(key) else self.value(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item, depth + 1) for item in value]
        return value

    def arguments(self, value: Any, parameters: Sequence[str] = ()) -> Any:
        """Encoded arguments `[[...], {...}]`; `parameters` names the positional ones, where they are known."""
        if not (isinstance(value, list) and len(value) == 2 and isinstance(value[0], list)):
            return self.value(value)
        positional = [
            MASK if index < len(parameters) and self.hides(parameters[index]) else self.value(item)
            for index, item in enumerate(value[0])
        ]
        return [positional, self.value(value[1])]

    def text(self, text: str) -> str:
        """Free text with `key=value` and `key: value` masked: for what cannot be decoded."""
        return text if self._pair is None else self._pair.sub(rf"\1{MASK}", text)

    def document(self, data: bytes, parameters: Sequence[str] | None = None) -> str:
        """JSON bytes as readable, masked text; arguments when `parameters` is given. What cannot be decoded is said."""
        hide: Callable[[Any], Any] = self.value if parameters is None else lambda v: self.arguments(v, parameters)
        try:
            return json.dumps(hide(json.loads(data)), ensure_ascii=False, indent=2)
        except (ValueError, RecursionError):
            return self.text(readable(data))

    def call(self, data: bytes, parameters: Sequence[str] = (), limit: int = 120) -> str:
        """Encoded arguments as a short call: `42, template='bye'`."""
        try:
            positional, named = self.arguments(json.loads(data), parameters)
            parts = [_short(item) for item in positional] + [f"{key}={_short(item)}" for key, item in named.items()]
        except (ValueError, TypeError, AttributeError, RecursionError):
            return cut(self.text(readable(data)), limit)
        return cut(", ".join(parts), limit)


def readable(data: bytes) -> str:
    """Any bytes as text: what is not UTF-8 is written as its hexadecimal codes."""
    return data.decode("utf-8", "backslashreplace")


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, an ellipsis where more was."""
    return text if len(text) <= limit else text[: limit - 1] + ELLIPSIS


def _short(value: Any) -> str:
    return MASK if value == MASK else json.dumps(value, ensure_ascii=False)
