"""Errors of executors: see ``errors``."""

from __future__ import annotations

from queueops.errors import QueueOpsError


class ExecutorUnavailable(QueueOpsError):
    """The executor cannot begin tasks: {reason}

    An executor raises it from `execute`, before the code of the task has begun. It costs the task nothing.
    """

    reason: str
