"""Lost leases: errors in a task that continues after the end of its lease. See ``errors``."""

from __future__ import annotations

from queueops.errors import StaleLease


class LeaseLost(StaleLease):
    """The task {id} no longer holds its lease (fence {fence}), so the store refused what it began, and wrote nothing.
    End the task: another worker may run it again, and begins the same.
    """
