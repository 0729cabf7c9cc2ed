"""Deletion of files: a task of the kind deletes what is due in the deletion queue, with retries.

The store makes the task when a file is due. There is one at a time in each pool.
"""

from __future__ import annotations

import time

from queueops.kinds.jobs.counters import DELETED, NOT_DELETED, count
from queueops.kinds.jobs.file_calls import DueFile, Settled
from queueops.kinds.jobs.files.file_store import delete_file, is_file_of, is_temporary
from queueops.kinds.jobs.files.orphans import id_of
from queueops.kinds.jobs.store import JobCalls
from queueops.model.retry import Retry
from queueops.redis.broker import get_role
from queueops.tasks.context import Context

FILE_DELETION, DELETE_FILES = "file_deletion", "delete_files"
"""The kind of the task, and its name; its record names them in `lua/lib/files.lua`."""
TURN_S = 15.0
"""Seconds after which the task gives its slot back: other tasks wait, or the worker is to end."""
COUNTERS = {"gone": (DELETED,), "failed": (NOT_DELETED,)}
"""By the outcome of a deletion."""
RETRY = Retry(delay=60, backoff=2, max_delay=86_400, jitter=0.1)
"""The delay after a deletion that has failed. It is repeated until it succeeds or an operator keeps the file."""


class FileDeletionHandler:
    """Deletes the files that are due, one after the other."""

    kind, name = FILE_DELETION, DELETE_FILES
    is_async = False
    retry_on = (Exception,)

    def run(self, context: Context) -> dict[str, int]:
        """Delete until nothing is due. The result counts what came of the files."""
        calls, until = get_role(JobCalls), time.monotonic() + TURN_S
        counts = {"gone": 0, "left": 0, "failed": 0}
        file = calls.next_file(context.pool)
        while file is not None:
            settled = delete(file)
            counts[settled.outcome] += 1
            count(context.pool, *COUNTERS.get(settled.outcome, ()))
            is_over = context.cancelled or time.monotonic() > until
            file = calls.next_file(context.pool, settled, takes=not is_over)
            if context.cancelled:
                context.cancel()
            if is_over:
                context.restart(0.1)
        return counts


def delete(file: DueFile) -> Settled:
    """Delete one file. A name that QueueOps does not give to the job of the file is left alone."""
    if not (id_of(file.path) if is_temporary(file.path) else is_file_of(file.path, file.id)):
        return Settled(file, "left")
    try:
        delete_file(file.path)
    except Exception as error:  # each storage has errors of its own
        delay = RETRY.delay_ms(min(file.tries + 1, 60))
        return Settled(file, "failed", delay, f"{type(error).__name__}: {error}")
    return Settled(file, "gone")
