"""Remembered facts: what the store tells of a key that never changes, such as the text behind a digest."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Generic, TypeVar

Value = TypeVar("Value")
MOST = 10_000
"""Facts that a process remembers of one sort; beyond, it begins anew."""
ASK_AGAIN_S = 60.0
"""Seconds until a key that the store did not know is asked for again."""


class Remembered(Generic[Value]):
    """Facts by their key, and the keys that the store does not know now."""

    def __init__(self) -> None:
        self._known: dict[str, Value] = {}
        self._missed: dict[str, float] = {}

    def get(self, key: str) -> Value | None:
        """The fact, if it is known."""
        return self._known.get(key)

    def put(self, key: str, value: Value) -> None:
        """Remember a fact."""
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[key] = value

    def to_read(self, keys: Iterable[str]) -> list[str]:
        """The keys to ask the store for, each once. They are not named again for a minute, unless `put` follows."""
        now = time.monotonic()
        found = [key for key in dict.fromkeys(keys) if key not in self._known and now >= self._missed.get(key, 0.0)]
        if len(self._missed) >= MOST:
            self._missed.clear()
        self._missed.update(dict.fromkeys(found, now + ASK_AGAIN_S))
        return found

    def forget(self) -> None:
        """Forget all, as between two tests."""
        self._known.clear()
        self._missed.clear()
