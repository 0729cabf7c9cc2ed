"""The app of the outbox in the tests' project: its tables are there, and a test puts it in place."""

from __future__ import annotations

import os

from queueops.contrib.outbox.apps import OutboxConfig


class DormantOutbox(OutboxConfig):
    """Does nothing until a test wants it, in this process or in those that it starts."""

    def ready(self) -> None:
        """Put it in place in the processes of a test that wants it."""
        if os.environ.get("QUEUEOPS_TESTS_OUTBOX"):
            super().ready()
