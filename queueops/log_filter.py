"""Log filter: adds the ids of the running task to the lines that it logs."""

from __future__ import annotations

import logging

from queueops.tasks.context import running


class TaskFilter(logging.Filter):
    """Adds `task` and `root` to a record: the ids of the task that logs it, and of its root.

    Both are empty in a line that no task has logged, so that a project's format may have `%(task)s`. Values that the
    call itself passes as `extra` under these names stay.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass."""
        context, fields = running(), vars(record)
        fields.setdefault("task", context.id if context else "")
        fields.setdefault("root", context.root if context else "")
        return True
