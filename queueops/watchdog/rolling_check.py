"""Rolling consistency check: the watchdog walks each pool in parts, and repairs what fsck would find.

A record that was changed by hand then does not stay stuck until an operator runs ``queue fsck``. Display counters are
left to that command.
"""

from __future__ import annotations

import logging
import time

from queueops.model.fsck import KEY, Fault
from queueops.model.ports import Upkeep
from queueops.watchdog.log_once import LogOnce

NAMES_A_ROUND, STEPS_A_ROUND = 300, 10
"""Names of tasks and chunks that one round examines in a pool, and its maximum number of steps."""
REST_S = 30.0
"""Seconds between two walks through a pool."""
MOST_TOLD = 20
"""Repairs of one round that are logged one by one."""

logger = logging.getLogger("queueops.watchdog")


class RollingCheck:
    """The position of the walk through each pool."""

    def __init__(self, broker: Upkeep, complaints: LogOnce, rest_s: float = REST_S) -> None:
        self._broker = broker
        self._complaints = complaints
        self._rest_s = rest_s
        self._after: dict[str, str] = {}
        self._next: dict[str, float] = {}

    def go_on(self, pool: str) -> dict[str, int]:
        """The next part of the walk; returns the repairs, as the watchdog's acts. Raises BrokenPool."""
        if time.monotonic() < self._next.get(pool, 0.0):
            return {}
        looked, repaired = 0, 0
        for _ in range(STEPS_A_ROUND):
            step = self._broker.check(pool, self._after.get(pool, ""), repair=True, counters=False)
            self._after[pool] = step.next
            looked += step.looked
            for fault in step.faults:
                repaired += self._tell(fault, repaired < MOST_TOLD)
            if not step.next:
                self._next[pool] = time.monotonic() + self._rest_s
            if not step.next or looked >= NAMES_A_ROUND:
                break
        if repaired > MOST_TOLD:
            logger.warning("pool %s: %d faults more were put right", pool, repaired - MOST_TOLD)
        return {"repaired": repaired} if repaired else {}

    def _tell(self, fault: Fault, told: bool) -> int:
        """Log a fault; return how many were repaired.

        A key of a wrong type is left to an operator; an alarm names it.
        """
        if fault.id.startswith(KEY):
            self._complaints.fault(fault.pool, fault.id, fault.text)
            self._broker.leave_broken(fault.pool, fault.id.removeprefix(KEY))
            return 0
        if told:
            logger.warning("pool %s: %s was put right: %s", fault.pool, fault.id, fault.text)
        return 1
