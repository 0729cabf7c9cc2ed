"""Entries of a run's history and of its inbox: JSON objects, each with the kind of entry in ``e``.

A history consists of steps. A step begins with its mark. Then come the events that it took from the inbox, then the
commands that the code gave. The store writes the ends of activities itself, as text; it never reads a payload.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

STEP = "step"
EVENTS = frozenset({"done", "failed", "fired", "signal", "cancel"})
"""What the inbox brings."""


NOTHING = msgspec.Raw(b"null")
"""No payload. A field with it is left out, which msgspec decides by identity."""


class Entry(msgspec.Struct, omit_defaults=True, frozen=True):
    """One entry. ``c`` is the number of the command that it belongs to.

    ``n`` is a name, ``i`` an id, ``h`` the digest of a call's arguments. ``at`` is a time in epoch milliseconds: of the
    event, or when a timer is due. ``r`` is a payload. ``s`` is a state, ``y`` a reason, ``er`` a stored error.
    """

    e: str
    c: int = 0
    n: str = ""
    i: str = ""
    h: str = ""
    at: int = 0
    s: str = ""
    y: str = ""
    r: msgspec.Raw = NOTHING
    er: msgspec.Raw = NOTHING

    @property
    def is_event(self) -> bool:
        """Whether it came from the inbox."""
        return self.e in EVENTS

    def told(self) -> str:
        """The entry in a message about a difference."""
        parts = [self.e, f"number {self.c}" if self.c else "", self.n, f"at {self.at}" if self.at else ""]
        return " ".join(part for part in parts if part)


class Block(NamedTuple):
    """One step of a history."""

    at: int
    events: Sequence[Entry]
    commands: Sequence[Entry]


def encode(entry: Entry) -> bytes:
    """The text of an entry."""
    return msgspec.json.encode(entry)


_decode = msgspec.json.Decoder(Entry).decode


def decode(text: bytes) -> Entry:
    """An entry of a text. Raises msgspec.MsgspecError."""
    return _decode(text)


def payload(entry: Entry) -> bytes:
    """The payload as JSON; empty for null, as results are stored."""
    data = bytes(entry.r)
    return b"" if data == b"null" else data


def raw(data: bytes) -> msgspec.Raw:
    """JSON as a payload."""
    return msgspec.Raw(data) if data else NOTHING


def digest(arguments: bytes) -> str:
    """A digest of encoded arguments: two calls with other arguments differ by it."""
    return hashlib.blake2b(arguments, digest_size=6).hexdigest()


def blocks(entries: Iterable[bytes]) -> Iterator[Block]:
    """The steps of a history."""
    at, events, commands = -1, [], []  # type: int, list[Entry], list[Entry]
    for text in entries:
        entry = decode(text)
        if entry.e == STEP:
            if at >= 0:
                yield Block(at, events, commands)
            at, events, commands = entry.at, [], []
        elif entry.is_event:
            events.append(entry)
        else:
            commands.append(entry)
    if at >= 0:
        yield Block(at, events, commands)
