"""Time limits: a periodic check for passed soft limits and for tasks that run longer than expected."""

from __future__ import annotations

from collections.abc import Callable

from queueops.errors import SoftTimeout
from queueops.model.contracts import Lease
from queueops.worker.execution.thread_executor import ThreadExecutor
from queueops.worker.shared_slot_table import NEVER

PRECISION = 0.1
"""Precision of a soft limit in seconds; better if the limit was known at the last check."""
AT_MOST_EVERY = 0.01
SPARE_MS = 10_000
"""How long a lease outlives its task's limit, so that the supervisor judges a late task."""


class TimeLimits:
    """``stuck`` is how many slots ran long at the last check, ``look_at`` is when the next one is due.

    ``stuck_after_ms`` returns the run time from which a slot counts as stuck.
    """

    def __init__(self, executor: ThreadExecutor, stuck_after_ms: Callable[[], float]) -> None:
        self.stuck = 0
        self.look_at = 0.0
        self._executor = executor
        self._stuck_after_ms = stuck_after_ms

    def look(self, now: float) -> None:
        """Interrupt tasks past their soft limit, and count slots that run long."""
        stuck, nearest = 0, now + PRECISION
        stuck_since = now - self._stuck_after_ms() / 1000
        for slot, lease in self._executor.running():
            if slot.started < stuck_since:
                stuck += 1
            if slot.deadline != NEVER and slot.interrupt is None:
                if slot.deadline <= now:
                    slot.stop(lease, SoftTimeout)
                else:
                    nearest = min(nearest, slot.deadline)
        self.stuck = stuck
        self.look_at = max(nearest, now + AT_MOST_EVERY)

    def left_ms(self, lease: Lease) -> int:
        """For how long a lease may be renewed: until shortly after the task's own limit; -1 if it has none."""
        slot = self._executor.slot_of(lease)
        if slot is None or slot.hard_limit == NEVER:
            return -1 if lease.timeout_ms is None else lease.timeout_ms + SPARE_MS
        return max(0, round((slot.hard_limit - slot.started - slot.seconds()) * 1000)) + SPARE_MS
