"""A record in the words of Django's tasks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from queueops.encoding import decode_arguments, decode_result
from queueops.failures import error_of
from queueops.kinds.django_task import library, load
from queueops.records import Record
from queueops.states import State

_STATUS = {State.LOCKED: "RUNNING", State.SUCCEEDED: "SUCCESSFUL", State.FAILED: "FAILED", State.CANCELLED: "FAILED"}


def result_of(record: Record, backend: str) -> Any:
    """The TaskResult of a record, or None when its task is no longer in the code."""
    task = load(record.name)
    if task is None:
        return None
    base = library("base")
    args, kwargs = decode_arguments(record.name, record.args)
    result = base.TaskResult(
        task=task.using(priority=record.priority, queue_name=record.pool, run_after=_moment(record.due)),
        id=record.id,
        status=base.TaskResultStatus[_STATUS.get(State(record.state), "READY")],
        enqueued_at=_moment(record.created),
        started_at=_moment(record.begun),
        finished_at=_moment(record.ended),
        last_attempted_at=_moment(record.begun),
        args=args,
        kwargs=kwargs,
        backend=backend,
        errors=_errors(record),
        worker_ids=[record.worker] * _attempts(record),
    )
    if record.state == State.SUCCEEDED:
        object.__setattr__(result, "_return_value", decode_result(record.name, record.result))
    return result


def _attempts(record: Record) -> int:
    """Django counts attempts by the workers that began one; the record keeps the number, and the last worker."""
    return record.attempt + (record.state in (State.LOCKED, State.SUCCEEDED)) if record.worker else 0


def _errors(record: Record) -> list[Any]:
    task_error = library("base").TaskError
    if record.state == State.CANCELLED:
        return [task_error(exception_class_path="queueops.errors.TaskCancelled", traceback=record.reason)]
    if not record.error and record.state != State.FAILED:
        return []
    error = error_of(record)
    path = error.type if "." in error.type else f"builtins.{error.type}"
    return [task_error(exception_class_path=path, traceback=error.traceback or error.message)]


def _moment(ms: int | None) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)
