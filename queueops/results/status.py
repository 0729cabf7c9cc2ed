"""Task status: the contents of a task's record at one moment, in public terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from queueops.errors import NotDecodable
from queueops.model.records import Record
from queueops.model.states import TERMINAL, State
from queueops.model.task_error import StoredError, error_of
from queueops.redis.wire import with_first
from queueops.tasks.encoding import decode_arguments
from queueops.tasks.metadata import decode_meta

_NO_ERROR = StoredError(type="")


class Progress(msgspec.Struct, frozen=True):
    """How far a task has come; `total` is None if the task did not report one."""

    done: float
    total: float | None = None

    @property
    def share(self) -> float | None:
        """From 0 to 1, or None if the total is unknown."""
        return min(1.0, self.done / self.total) if self.total else None

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON, with the share."""
        return {"done": self.done, "total": self.total, "share": self.share}


class TaskStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A task at one moment. Times are milliseconds of the epoch; `attempt` counts failed attempts.

    `args` and `kwargs` are plain JSON, as they are stored; None if they are unreadable. The result of the task before
    it is among `args`, if that is its first argument. `error`, `error_type` and
    `traceback` are those of the last failed attempt. Nothing is redacted.

    `chunks` counts the chunks of a map-reduce task by their state (pending, active, errored, done, failed).
    """

    id: str
    pool: str
    lane: str
    kind: str
    name: str
    state: State
    priority: int
    attempt: int
    retries: int
    crashes: int
    created_ms: int
    due_ms: int | None
    begun_ms: int | None
    ended_ms: int | None
    worker: str
    progress: Progress | None
    reason: str
    error: str
    error_type: str
    traceback: str
    tags: tuple[str, ...]
    root: str
    args: list[Any] | None
    kwargs: dict[str, Any] | None
    meta: dict[str, Any]
    chunks: dict[str, int] | None = None

    @property
    def is_over(self) -> bool:
        """Whether the task has ended."""
        return self.state in TERMINAL

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON, with `is_over`."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        progress = None if self.progress is None else self.progress.as_dict()
        return found | {"tags": list(self.tags), "progress": progress, "is_over": self.is_over}


def status_of(record: Record, values: Mapping[str, Any]) -> TaskStatus:
    """The status that a record describes, with the ``values`` that its kind brings, by attribute."""
    args, kwargs = _arguments(record)
    error = error_of(record) if record.error else _NO_ERROR
    return TaskStatus(
        id=record.id,
        pool=record.pool,
        lane=record.lane,
        kind=record.kind,
        name=record.name,
        state=State(record.state),
        priority=record.priority,
        attempt=record.attempt,
        retries=record.retries,
        crashes=record.crashes,
        created_ms=record.created,
        due_ms=record.due,
        begun_ms=record.begun,
        ended_ms=record.ended,
        worker=record.worker,
        progress=progress_of(record),
        reason="" if record.state == State.SUCCEEDED else record.reason,  # that of an earlier wait
        error=error.message,
        error_type=error.type,
        traceback=error.traceback,
        tags=record.tags,
        root=record.root or record.id,
        args=args,
        kwargs=kwargs,
        meta=decode_meta(record.meta),
        **values,
    )


def progress_of(record: Record) -> Progress | None:
    """The progress that the task has reported, or None."""
    return None if record.progress is None else Progress(record.progress, record.total)


def _arguments(record: Record) -> tuple[list[Any] | None, dict[str, Any] | None]:
    try:
        args = record.args if record.previous is None else with_first(record.args, record.previous)
        return decode_arguments(record.name, args)
    except NotDecodable:
        return None, None
