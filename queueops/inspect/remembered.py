"""Remembered facts: what the store tells of a key that never changes, such as the text behind a digest."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Generic, TypeVar

from queueops import conf

Value = TypeVar("Value")
MOST = 10_000
"""Facts that a process remembers of one sort; beyond, it begins anew."""
ASK_AGAIN_S = 60.0
"""Seconds until a key that the store did not know is asked for again."""


class Remembered(Generic[Value]):
    """Facts by store and key, and the keys that the store does not know now."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Value] = {}
        self._missed: dict[tuple[str, str], float] = {}

    def get(self, key: str) -> Value | None:
        """The fact, if it is known."""
        return self._known.get((conf.store_name(), key))

    def put(self, key: str, value: Value) -> None:
        """Remember a fact."""
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[conf.store_name(), key] = value

    def to_read(self, keys: Iterable[str]) -> list[str]:
        """The keys to ask the store for, each once. They are not named again for a minute, unless `put` follows."""
        now, store = time.monotonic(), conf.store_name()
        places = [(store, key) for key in dict.fromkeys(keys)]
        found = [place for place in places if place not in self._known and now >= self._missed.get(place, 0.0)]
        if len(self._missed) >= MOST:
            self._missed.clear()
        self._missed.update(dict.fromkeys(found, now + ASK_AGAIN_S))
        return [key for _store, key in found]

    def forget(self) -> None:
        """Forget all, as between two tests."""
        self._known.clear()
        self._missed.clear()
