"""Pasted texts: the task id in a line of a log, or in JSON."""

from __future__ import annotations

import json
import re

from queueops.model.ids import ID

NAMED = ("task_id", "task", "id")
ULID = re.compile(r"(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z])")
VALUE = re.compile(rf"\b(?:{'|'.join(NAMED)})[\"']?\s*[=:]\s*[\"']?({ID.pattern})")


def pasted_id(text: str) -> str:
    """The id of the one task that a text of several words names; empty if it names none, or several."""
    if (found := _of_json(text)) is not None:
        return found
    ids = set(ULID.findall(text)) or set(VALUE.findall(text))
    return ids.pop() if len(ids) == 1 and len(text.split()) > 1 else ""


def _of_json(text: str) -> str | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    named = [value for name in NAMED if isinstance(value := found.get(name), str) and ID.fullmatch(value)]
    return named[0] if named else None
