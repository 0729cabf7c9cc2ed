"""Schedules of the code: errors of a watchdog. See ``errors``."""

from __future__ import annotations

from queueops.errors import QueueOpsError


class ScheduleNotStored(QueueOpsError):
    """The schedule {id} of the code is not stored, and does not fire as the code says: {reason}"""

    id: str
    reason: str
