"""Error of an export."""

from __future__ import annotations

from queueops.errors import QueueOpsError


class ExportStopped(QueueOpsError):
    """The export has not read every row: {reason} Repair this, and export the list again."""

    reason: str
