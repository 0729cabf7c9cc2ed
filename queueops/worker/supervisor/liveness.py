"""Liveness check: detects worker processes that no longer run Python code.

Before a process sleeps, it writes the time at which it will wake into shared memory. The supervisor sends a signal to
a process that is late. The signal handler answers, even while the main loop waits for the store. A process that does
not answer is silent: its interpreter is blocked, or the process is stopped. A lease keeper renews the leases of a
silent process. A process that stays silent for too long is hung, and is killed.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable

from queueops.worker.shared_slot_table import Condition
from queueops.worker.supervisor.child_handle import ChildProcess
from queueops.worker.supervisor.os_signals import PING

LATE_AFTER = 0.25
SILENT_AFTER = 0.75
"""Seconds without an answer until a process counts as silent, or a third of a lease if that is less.

Every lease, even a handed-over one, is then renewed in time.
"""
KILL_AFTER = 5.0
"""Seconds for which a hung process is shown as hung before it is killed."""

logger = logging.getLogger("queueops.worker")


class Liveness:
    """Judges the processes of one supervisor. Times are seconds of the monotonic clock."""

    def __init__(self, lease: float, hung_after: float, keep: Callable[[ChildProcess, float], int]) -> None:
        """``keep`` starts a lease keeper for a process, given its last sign of life, and returns the keeper's pid."""
        self._silent_after = min(SILENT_AFTER, lease / 3)
        self._hung_after = hung_after
        self._keep = keep
        self._since = time.monotonic()

    def begin_again(self, now: float) -> None:
        """Forget all earlier silence, because the supervisor itself was stopped, and perhaps its processes with it."""
        self._since = now

    def look(self, process: ChildProcess, now: float) -> None:
        """Judge a process: start or end its lease keeper, and kill the process when it is hung."""
        sign, table = process.table.last_sign, process.table
        silence = self._silence(sign, now)
        condition, before = self._judge(process, sign, now), table.condition
        table.watched = now
        if condition is not before:
            table.condition = condition
            self._tell(process, condition, silence)
        if condition is Condition.LIVE:
            return
        if not self._has_keeper(process):
            process.keeper = self._keep(process, sign)
        if condition is Condition.HUNG and silence >= self._hung_after + KILL_AFTER:
            process.hung_for = silence
            process.kill()

    def dismiss(self, process: ChildProcess) -> None:
        """End the lease keeper of a process that has ended: it must renew nothing more."""
        if self._has_keeper(process):
            os.kill(process.keeper, signal.SIGKILL)
            os.waitpid(process.keeper, 0)
            process.keeper = 0

    def _silence(self, sign: float, now: float) -> float:
        """How long there has been no sign of life; 0 before the process has begun its first turn."""
        return max(0.0, now - max(sign, self._since)) if sign else 0.0

    def _judge(self, process: ChildProcess, sign: float, now: float) -> Condition:
        silence = self._silence(sign, now)
        if silence < LATE_AFTER:
            return Condition.LIVE
        answered = process.pinged_at <= sign
        if answered:
            process.pinged_at = now
        process.signal(PING)
        if answered or silence < self._silent_after:
            return Condition.LIVE
        return Condition.HUNG if silence >= self._hung_after else Condition.SILENT

    def _has_keeper(self, process: ChildProcess) -> bool:
        if process.keeper and os.waitpid(process.keeper, os.WNOHANG)[0]:
            process.keeper = 0
        return process.keeper != 0

    def _tell(self, process: ChildProcess, condition: Condition, silence: float) -> None:
        facts = {"worker": process.worker, "process": process.pid}
        if condition is Condition.LIVE:
            logger.info("Process %d runs again", process.pid, extra={"told": facts})
        elif condition is Condition.SILENT:
            logger.info("Process %d gives no sign of life; its leases are renewed for it",
                        process.pid, extra={"told": facts})  # fmt: skip
        else:
            logger.error("Process %d is hung: no sign of life for %.0f s; it is killed in %.0f s",
                         process.pid, silence, KILL_AFTER, extra={"told": facts})  # fmt: skip
