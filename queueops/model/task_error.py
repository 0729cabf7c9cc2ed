"""Task error: the error of a failed task, as its record describes it."""

from __future__ import annotations

import re

import msgspec

from queueops.errors import QueueOpsError, TaskCancelled, TaskFailed
from queueops.model.encryption import without_tokens
from queueops.model.records import Record
from queueops.model.states import State


class StoredError(msgspec.Struct, frozen=True):
    """An error as it is stored: JSON with these fields, in this order: the scripts may cut it.

    Its class is known by name only: no exception is rebuilt from the store.
    """

    fingerprint: str = ""
    type: str = "Error"
    message: str = ""
    traceback: str = ""
    code: int | msgspec.UnsetType = msgspec.UNSET
    """What the attribute `response_code` of the exception says, if it has one: the status of an HTTP answer."""

    def encoded(self) -> bytes:
        """The JSON that goes into the record."""
        return msgspec.json.encode(self)


def error_of(record: Record) -> StoredError:
    """The last error of a task; without one, the reason for its state."""
    if not record.error:
        return StoredError(type="WorkerLost" if record.crashes else "Failed", message=record.reason)
    try:
        found = msgspec.json.decode(record.error, type=StoredError)
    except msgspec.MsgspecError:  # the record was written by other software
        return StoredError(message=record.error[:200].decode("utf-8", "replace"))
    if "qe1:" in found.message:
        shown = (without_tokens(text) for text in (found.message, found.traceback))
        return msgspec.structs.replace(found, **dict(zip(("message", "traceback"), shown, strict=True)))
    return found


def raised_by(record: Record) -> QueueOpsError:
    """The exception for a caller that waits for an unsuccessful task."""
    if record.state == State.CANCELLED:
        return TaskCancelled(id=record.id, reason=record.reason)
    error = error_of(record)
    return TaskFailed(id=record.id, type=error.type, message=error.message, traceback=error.traceback)


def without_module(title: str) -> str:
    """An error in one line, its type without its module, for narrow columns."""
    return re.sub(r"\A(?:\w+\.)+(?=\w+(?:: |\Z))", "", title)
