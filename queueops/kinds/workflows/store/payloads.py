"""Payloads kept apart: a large result or signal is stored in `#payloads` of its run, and its entry names the field.

History and inbox stay small. A reader gets the payloads in batches, when the code needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from queueops import conf
from queueops.errors.workflows import PayloadLost
from queueops.kinds.workflows import events
from queueops.kinds.workflows.events import Entry

INLINE = 8_192
"""The most bytes of a payload in its entry. `runs.lua` has the same number."""
BATCH_BYTES = 4_000_000
"""Payloads that one reply of the store has, and those that one step takes from the inbox; at least one."""
BATCH = 1_000
_MARK = b'"k":"'

Load = Callable[[Sequence[str]], Sequence[bytes | None]]


def apart(entry: Entry, field: str) -> tuple[Entry, bytes]:
    """The entry as it is stored, and its payload if that is stored in this field; else empty."""
    data = bytes(entry.payload)
    if len(data) <= INLINE:
        return entry, b""
    return msgspec.structs.replace(entry, payload=events.NOTHING, kept=field, size=len(data)), data


def sealed(text: bytes) -> bytes:
    """An entry as it is stored: its payload is sealed, if there are keys."""
    ring = conf.keyring()
    entry = None if ring is None else events.decode(text)
    if ring is None or entry is None or entry.payload is events.NOTHING:
        return text
    return events.encode(msgspec.structs.replace(entry, payload=events.raw(ring.seal(bytes(entry.payload)))))


def filled(texts: Iterable[bytes], load: Load) -> Iterator[bytes]:
    """Entries with their payloads. Raises PayloadLost."""
    waiting: list[bytes | Entry] = []
    size = 0
    for text in texts:
        entry = events.decode(text) if _MARK in text else None
        if entry is not None and entry.kept:
            waiting.append(entry)
            size += entry.size
        elif waiting:
            waiting.append(text)
        else:
            yield text
        if size >= BATCH_BYTES or len(waiting) >= BATCH:
            yield from _loaded(waiting, load)
            waiting, size = [], 0
    yield from _loaded(waiting, load)


def first_of(texts: Sequence[bytes]) -> Sequence[bytes]:
    """The events that one step takes: the first ones, by the bytes of their payloads."""
    size = 0
    for number, text in enumerate(texts):
        size += len(text) + (events.decode(text).size if _MARK in text else 0)
        if size > BATCH_BYTES:
            return texts[: max(1, number)]
    return texts


def _loaded(waiting: Sequence[bytes | Entry], load: Load) -> Iterator[bytes]:
    fields = [each.kept for each in waiting if isinstance(each, Entry)]
    if not fields:
        return
    found = iter(load(fields))
    for each in waiting:
        if isinstance(each, bytes):
            yield each
            continue
        data = next(found)
        if data is None:
            raise PayloadLost(field=each.kept)
        yield events.encode(msgspec.structs.replace(each, payload=events.raw(data), kept="", size=0))
