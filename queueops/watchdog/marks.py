"""Marks of the history: the watchdog reports the alarms and the new workers of each pool, every few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

from queueops.errors import StoreFull
from queueops.model.marks import Seen
from queueops.model.ports import Upkeep

EVERY_S = 5.0
Look = Callable[[str], Seen]
"""Reads the alarms and the workers of a pool. It stands above the watchdog's layer, so the command hands it in."""


class Marks:
    """When each pool was last reported, and the workers whose start is kept."""

    def __init__(self, broker: Upkeep, look: Look | None, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` counts seconds. Without ``look`` nothing is reported."""
        self._broker = broker
        self._look = look
        self._clock = clock
        self._next: dict[str, float] = {}
        self._known: dict[str, set[str]] = {}

    def go_on(self, pool: str) -> dict[str, int]:
        """Report a pool, at most every EVERY_S; return how many alarms began and ended.

        A full store takes no marks; they are reported again.
        """
        now = self._clock()
        if self._look is None or now < self._next.get(pool, now):
            return {}
        self._next[pool] = now + EVERY_S
        seen = self._look(pool)
        known = self._known.get(pool, set())
        try:
            begun, ended = self._broker.keep_marks(
                pool, seen.conditions, [mark for mark in seen.starts if mark.about not in known]
            )
        except StoreFull:
            return {}
        self._known[pool] = {mark.about for mark in seen.starts}
        return {word: count for word, count in (("alarms", begun), ("alarms over", ended)) if count}
