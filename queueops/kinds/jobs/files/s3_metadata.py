"""Metadata of a file in S3: the object `extra` of a job whose file goes to a bucket, checked when it is handed in."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

import msgspec

from queueops.errors import BadOption

MOST = 2048
"""Bytes of all names and values that S3 keeps with a file."""
NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


def read_metadata(extra: str) -> dict[str, str]:
    """The texts of `extra`, a JSON object, and its numbers without their fraction. Other values are left out.

    An empty text has none. Raises BadOption.
    """
    given = _object(extra)
    found = {name: text for name, value in given.items() if (text := _text_of(value)) is not None}
    for name, text in found.items():
        if not NAME.fullmatch(name):
            raise _refused(extra, "an object with names of letters, digits, - and _")
        if not text.isascii() or not text.isprintable():
            raise _refused(extra, f"an object of ASCII texts; {name} is another one")
    if sum(len(name) + len(text) for name, text in found.items()) > MOST:
        raise _refused(extra, f"an object whose names and values have at most {MOST:,} bytes")
    return found


def _object(extra: str) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(extra) if extra else {}
    except (msgspec.MsgspecError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _refused(extra, "a JSON object")
    return found


def _text_of(value: object) -> str | None:
    if isinstance(value, str):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return str(int(value)) if is_number else None  # type: ignore[call-overload]  # it is a number


def _refused(extra: str, expected: str) -> BadOption:
    return BadOption(name="extra", value=extra[:100], expected=f"{expected}: it is the metadata of a file in S3")
