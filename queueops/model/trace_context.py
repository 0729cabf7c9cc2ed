"""Trace context of a task, as its record keeps it in the field `trace`.

Its first line is the `traceparent` of W3C. Each further line is another header, as `name: value`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

TRACEPARENT = "traceparent"
LINKED = "queueops-linked"
"""A header of ours: the push was one of many, so its task begins a trace of its own, with a link to the push."""
_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-([0-9a-f]{2})")


def written(headers: Mapping[str, str]) -> str:
    """The headers as a record keeps them; empty without a `traceparent`. A header of two lines is left out."""
    parent = headers.get(TRACEPARENT, "")
    others = {name: value for name, value in headers.items() if name != TRACEPARENT and value.isprintable()}
    return "\n".join((parent, *(f"{name}: {value}" for name, value in others.items()))) if parent else ""


def read(text: str) -> dict[str, str]:
    """The headers of a stored trace context; empty for a text that is none."""
    parent, *lines = text.split("\n")
    if not _PARENT.fullmatch(parent):
        return {}
    pairs = (line.partition(": ") for line in lines)
    return {TRACEPARENT: parent} | {name: value for name, found, value in pairs if found}


def traceparent(text: str) -> str:
    """The `traceparent` of a stored trace context; empty for a text that is none."""
    return read(text).get(TRACEPARENT, "")


def sampled_trace(text: str) -> str:
    """The trace's id of 32 hexadecimal digits; empty without a trace, and for one that is not sampled."""
    found = _PARENT.fullmatch(text.partition("\n")[0])
    return found[1] if found and int(found[2], 16) & 1 else ""
