"""Shared readings: the last answers of this process, so that many open pages cost the store one reading a second.

The threads that ask for the same answer wait for one of them to read it. An answer is of the current user's view: what
is concealed from some users is never shared with the others.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Generic, TypeVar

from queueops import conf
from queueops.errors import QueueOpsError
from queueops.inspect.redaction import conceals

T = TypeVar("T")
MOST = 32
"""The most answers of one kind that a process keeps; the one that was used first goes."""


class _Entry(Generic[T]):
    """One answer, or the error that the question ended with."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.at = float("-inf")
        self.answer: T | QueueOpsError | None = None


class SharedReadings(Generic[T]):
    """The last answers to one kind of question, by the question."""

    def __init__(self) -> None:
        """Begin without answers."""
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry[T]] = OrderedDict()

    def read(self, question: Hashable, max_age_s: float, ask: Callable[[], T]) -> T:
        """The answer, at most `max_age_s` seconds old. With 0 this call asks, and the others get its answer.

        An error is shared too: a store that does not answer costs the waiting threads one timeout.
        """
        entry = self._entry(question)
        if not max_age_s:
            began, answer = monotonic(), ask()
            entry.at, entry.answer = began, answer
            return answer
        with entry.lock:
            if entry.answer is None or monotonic() - entry.at > max_age_s:
                entry.at = monotonic()
                try:
                    entry.answer = ask()
                except QueueOpsError as error:
                    entry.answer = error
            found = entry.answer
        if isinstance(found, QueueOpsError):
            raise found
        return found

    def _entry(self, question: Hashable) -> _Entry[T]:
        key = conf.current().place, conceals(), question
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            while len(self._entries) > MOST:
                self._entries.popitem(last=False)
        return entry
