"""Entries of a run's history and of its inbox: JSON objects, each with the kind of entry in ``e`` (see STORED).

A history consists of steps. A step begins with its mark. Then come the events that it took from the inbox, then the
commands that the code gave. The store writes the ends of activities itself, as text; it never reads a payload.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

STEP = "step"
EVENTS = frozenset({"done", "failed", "fired", "signal", "cancel"})
"""What the inbox brings."""


NOTHING = msgspec.Raw(b"null")
"""No payload. A field with it is left out, which msgspec decides by identity."""


STORED = {
    "kind": "e",
    "command": "c",
    "name": "n",
    "instance": "i",
    "arguments_digest": "h",
    "at_ms": "at",
    "state": "s",
    "reason": "y",
    "payload": "r",
    "error": "er",
    "pool": "p",
    "kept": "k",
    "size": "z",
}
"""The key of each field in the stored text, which is short: a history has thousands of entries."""


class Entry(msgspec.Struct, omit_defaults=True, frozen=True, rename=STORED):
    """One entry of a history or an inbox."""

    kind: str
    """A step's mark ("step"); an event: "done", "failed", "fired", "signal", "cancel"; or a command of the code:
    "call", "child", "timer", "tell", "drop", "ask", "side", "patch", "end"."""
    command: int = 0
    """The number of the command that it belongs to, from 1; 0 for none."""
    name: str = ""
    """The name of a task, a workflow, a signal or a patch."""
    instance: str = ""
    """The instance of a child, or the one that a signal goes to."""
    arguments_digest: str = ""
    """The digest of a call's arguments; of the first step's mark, the digest of the workflow's source."""
    at_ms: int = 0
    """When it happened, in epoch milliseconds; of a timer, when it is due."""
    state: str = ""
    """The state in which an activity, a child or the run ended."""
    reason: str = ""
    """Why it was cancelled or failed."""
    payload: msgspec.Raw = NOTHING
    """The value of a signal, the result of a call, or a recorded value, as JSON."""
    error: msgspec.Raw = NOTHING
    """The error of a failed call, as JSON."""
    pool: str = ""
    """The pool of a call, a child or a signal, and of its end, if it is not that of the run."""
    kept: str = ""
    """The field of `#payloads` that has a large payload, which is not in the entry then."""
    size: int = 0
    """The bytes of that payload."""

    @property
    def value(self) -> Any:
        """The payload as plain data; None without one."""
        return msgspec.json.decode(self.payload)

    @property
    def is_event(self) -> bool:
        """Whether it came from the inbox."""
        return self.kind in EVENTS

    def told(self) -> str:
        """The entry in a message about a difference."""
        number = f"number {self.command}" if self.command else ""
        at = f"at {self.at_ms}" if self.at_ms else ""
        parts = [self.kind, number, self.name, at]
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
    data = bytes(entry.payload)
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
        if entry.kind == STEP:
            if at >= 0:
                yield Block(at, events, commands)
            at, events, commands = entry.at_ms, [], []
        elif entry.is_event:
            events.append(entry)
        else:
            commands.append(entry)
    if at >= 0:
        yield Block(at, events, commands)
