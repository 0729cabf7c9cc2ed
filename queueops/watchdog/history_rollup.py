"""History roll-up: closed minutes become rows, ten of these rows one for ten minutes, and six of those one for an hour.

A step is computed from its parts alone and replaced as a whole. So several watchdogs, a crash between two calls, and a
repeated roll-up lose nothing and count nothing twice. The pool's clock holds the last step of each level; a watchdog
that comes after a pause continues there.
"""

from __future__ import annotations

from queueops.errors import StoreFull
from queueops.model.history import HOUR, LEVELS, MINUTE, TEN_MINUTES, Level, Rows, merged, minute_rows
from queueops.model.ports import Upkeep

STEPS = {MINUTE.word: 60, TEN_MINUTES.word: 12, HOUR.word: 4}
"""Steps of each level that one call rolls up at most: it reads about as many hashes of the finer level."""


class HistoryRollup:
    """The state of each pool: the minute in which nothing is left to do."""

    def __init__(self, broker: Upkeep) -> None:
        self._broker = broker
        self._done: dict[str, int] = {}

    def go_on(self, pool: str, now_ms: int) -> int:
        """Roll up some closed steps of a pool; return how many. ``now_ms`` is the time of the pool's server.

        A full store takes no history: it is tried again in the next minute, and the counters wait for 48 hours.
        """
        minute = MINUTE.slot(now_ms)
        if self._done.get(pool) == minute:
            return 0
        try:
            return self._go_on(pool, now_ms, minute)
        except StoreFull:
            self._done[pool] = minute
            return 0

    def _go_on(self, pool: str, now_ms: int, minute: int) -> int:
        marks, rolled, left = self._broker.history_marks(pool), 0, False
        end = minute
        for level in LEVELS:
            last, until = self._last(level, marks[level.word], now_ms), end // level.parts
            end = min(until, last + 1 + STEPS[level.word])
            slots = range(last + 1, end)
            if slots or last != marks[level.word]:
                self._roll(pool, level, slots, max(end - 1, last))
            rolled, left = rolled + len(slots), left or end < until
            end = max(end, last + 1)
        if not left:
            self._done[pool] = minute
        return rolled

    def _last(self, level: Level, mark: int, now_ms: int) -> int:
        """The last step that is rolled up.

        A pool without any begins with what is still there. After a clock was set back, the steps from now on are rolled
        up again as they close: workers count into the same minutes once more.
        """
        now = level.slot(now_ms)
        oldest = now - level.kept_s * 1000 // level.step_ms if level is MINUTE else 0
        finer = LEVELS[LEVELS.index(level) - 1] if level is not MINUTE else MINUTE
        oldest = max(oldest, level.slot(now_ms - finer.kept_s * 1000))
        return min(max(mark, oldest - 1), now - 1)

    def _roll(self, pool: str, level: Level, slots: range, last: int) -> None:
        """Roll these steps up, and note the last one."""
        steps: dict[int, Rows] = {}
        if level is MINUTE:
            for slot, counters in zip(slots, self._broker.minute_counters(pool, slots), strict=True):
                steps[slot] = minute_rows(counters)
        else:
            finer = LEVELS[LEVELS.index(level) - 1]
            parts = [slot * level.parts + part for slot in slots for part in range(level.parts)]
            found = self._broker.history_steps(pool, finer, parts)
            for number, slot in enumerate(slots):
                steps[slot] = merged(found[number * level.parts : (number + 1) * level.parts])
        self._broker.keep_history(pool, level, {slot: rows for slot, rows in steps.items() if rows}, last)
