"""Prefetch control: how much work a process fetches ahead, limited by time and not by count.

A process holds unstarted tasks for about HOLD_MS of each slot's time. So slots seldom wait for a round trip, and tasks
do not wait here long while another worker is free. If the average task runs for HOLD_MS or longer, none is fetched
ahead.
"""

from __future__ import annotations

HOLD_MS = 20.0
STUCK_MS = 50.0
_RISE, _FALL = 0.5, 0.05


class Prefetch:
    """A moving average of run times, and the number of unstarted tasks derived from it.

    The average rises fast and falls slowly: a task of twice HOLD_MS after many short ones stops the prefetch at once.
    """

    __slots__ = ("average_ms", "ceiling", "slots")

    def __init__(self, slots: int, ceiling: int) -> None:
        self.slots = slots
        self.ceiling = ceiling
        self.average_ms: float | None = None

    def ran(self, total_ms: float, count: int) -> None:
        """Include ``count`` finished tasks that ran for ``total_ms`` together."""
        mean = total_ms / count
        if self.average_ms is None:
            self.average_ms = mean
            return
        weight = 1.0 - (1.0 - (_RISE if mean > self.average_ms else _FALL)) ** count
        self.average_ms += (mean - self.average_ms) * weight

    def ahead(self, stuck: int = 0) -> int:
        """How many unstarted tasks to hold, when ``stuck`` slots run longer than expected."""
        if self.average_ms is None or self.average_ms >= HOLD_MS:
            return 0
        free_ms = HOLD_MS * max(0, self.slots - stuck)
        return min(self.ceiling, int(free_ms / max(self.average_ms, 0.01)))

    def stuck_after_ms(self) -> float:
        """The run time from which a task counts as running longer than expected."""
        return max(STUCK_MS, 10 * (self.average_ms or 0.0))
