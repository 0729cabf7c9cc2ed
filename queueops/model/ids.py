"""Task ids: time-ordered and random, or the user's own within a grammar."""

from __future__ import annotations

import os
import re
import time
from uuid import UUID

from queueops.errors import BadId

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_CHARACTERS = bytes(ord(_ALPHABET[byte % 32]) for byte in range(256))  # five bits of each random byte count
_moment = (0, "")  # the last millisecond, and its ten characters
ID_LENGTH, NAME_LENGTH = 200, 100
ID = re.compile(rf"[A-Za-z0-9._:@/=+\-]{{1,{ID_LENGTH}}}")
NAME = re.compile(rf"[A-Za-z0-9._:@/=+\-]{{1,{NAME_LENGTH}}}")


def new_id() -> str:
    """Make a ULID: 26 characters, 48 bits of time in milliseconds and 80 random bits, sortable by time."""
    global _moment
    milliseconds = time.time_ns() // 1_000_000
    moment = _moment
    if moment[0] != milliseconds:
        characters = ""
        for shift in range(45, -1, -5):
            characters += _ALPHABET[milliseconds >> shift & 31]
        moment = _moment = (milliseconds, characters)
    return moment[1] + os.urandom(16).translate(_CHARACTERS).decode()


def check_id(value: object, what: str = "id of a task") -> str:
    """Return ``value`` if it is a valid task id: 1 to 200 of letters, digits and ``._:@/=+-``; raises BadId."""
    if isinstance(value, str) and ID.fullmatch(value):
        return value
    raise BadId(id=_shown(value), what=what, most=ID_LENGTH)


def lane_or_none(value: bytes) -> str | None:
    """The name of a pool or lane as read from Redis, or None if it is invalid."""
    text = value.decode("utf-8", "replace")
    return text if NAME.fullmatch(text) else None


def check_lane(value: object, what: str = "name of a lane") -> str:
    """Return ``value`` if it is a valid lane, tag or pool name (1 to 100 such characters); raises BadId."""
    if isinstance(value, str) and NAME.fullmatch(value):
        return value
    raise BadId(id=_shown(value), what=what, most=NAME_LENGTH)


def _shown(value: object) -> object:
    """The value as an error shows it. A number or a UUID looks like a valid id, but is not text."""
    return value if value is None or isinstance(value, (int, float, UUID)) else str(value)[:ID_LENGTH]


def made_ms(prefix: str) -> int | None:
    """The earliest time in ms of a ULID that begins so; None if the text is no such beginning, or tells too little."""
    moment = prefix[:10]
    if len(moment) < 6 or any(character not in _ALPHABET for character in prefix):
        return None
    value = 0
    for character in moment.ljust(10, "0"):
        value = value * 32 + _ALPHABET.index(character)
    return value
