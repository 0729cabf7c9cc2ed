"""What is started again every few minutes, however fast the rest comes: the word counts."""

from __future__ import annotations

import time

from console.demo.library import any_package
from console.demo.tasks.words import StrictWordCount, WordCount

EVERY = 300.0
STRICT_AFTER = 45.0
"""The strict count of one package comes so long after the large one."""


class Rounds:
    """Knows when each is due; the first one at once."""

    def __init__(self) -> None:
        now = time.monotonic()
        self._next = {WordCount: now, StrictWordCount: now + STRICT_AFTER}

    def push_due(self, now: float) -> None:
        """Push what is due by now."""
        for count, due in self._next.items():
            if now >= due:
                self._next[count] = now + EVERY
                count.push("the library" if count is WordCount else any_package())
