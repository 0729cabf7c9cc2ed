"""Task error: the error of a failed task, as its record describes it."""

from __future__ import annotations

import msgspec

from queueops.errors import QueueOpsError, TaskCancelled, TaskFailed
from queueops.model.records import Record
from queueops.model.states import State


class StoredError(msgspec.Struct, frozen=True):
    """What is stored of an exception. Its class is known by name only: no exception is rebuilt from the store."""

    type: str = "Error"
    message: str = ""
    traceback: str = ""
    fingerprint: str = ""


def error_of(record: Record) -> StoredError:
    """The last error of a task; without one, the reason for its state."""
    if not record.error:
        return StoredError(type="WorkerLost" if record.crashes else "Failed", message=record.reason)
    try:
        return msgspec.json.decode(record.error, type=StoredError)
    except msgspec.MsgspecError:  # the record was written by other software
        return StoredError(message=record.error[:200].decode("utf-8", "replace"))


def raised_by(record: Record) -> QueueOpsError:
    """The exception for a caller that waits for an unsuccessful task."""
    if record.state == State.CANCELLED:
        return TaskCancelled(id=record.id, reason=record.reason)
    error = error_of(record)
    return TaskFailed(id=record.id, type=error.type, message=error.message, traceback=error.traceback)
