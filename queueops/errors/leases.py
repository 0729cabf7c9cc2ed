"""Lost leases: what a task learns that goes on after its lease has ended. See ``errors``."""

from __future__ import annotations

from queueops.errors import StaleLease


class LeaseLost(StaleLease):
    """The task {id} no longer holds its lease (fence {fence}), so the store refused its push and wrote nothing.
    End the task: another worker may run it again, and makes the same push.
    """
