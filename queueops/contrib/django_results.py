"""TaskResult of Django's tasks, made from a stored record, or from the lease of a running task.

All times are those of the store's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from queueops.contrib.django_attempts import (
    Attempt,
    TaskQuarantined,
    attempts_in,
    own_error,
    padded,
    stored_error,
)
from queueops.contrib.django_library import DEFAULT_ALIAS, backend_of, library, load, moment, with_fields
from queueops.errors import NotDecodable, TaskCancelled, TaskFailed
from queueops.model.contracts import Lease
from queueops.model.records import Record
from queueops.model.states import TERMINAL, State
from queueops.tasks.encoding import Arguments, decode_arguments, decode_result

_STATUS = {
    State.LOCKED: "RUNNING",
    State.SUCCEEDED: "SUCCESSFUL",
    State.FAILED: "FAILED",
    State.CANCELLED: "FAILED",
    State.QUARANTINED: "FAILED",
}


def result_of(record: Record, log: Iterable[bytes]) -> Any:
    """The result of a stored task, or None when this process has not imported its code."""
    if (task := load(record.name)) is None:
        return None
    state = State(record.state)
    attempts = _attempts_of(record, log)
    result = _made(record, task, _STATUS.get(state, "READY"), _arguments(record), attempts, record.begun)
    result.errors.extend(_end_errors(record, attempts))
    fill(result, enqueued_at=moment(record.created), finished_at=moment(record.ended if state in TERMINAL else None))
    if state is State.SUCCEEDED:
        fill(result, _return_value=decode_result(record.name, record.result))
    return result


def running_result(lease: Lease, log: Iterable[bytes], task: Any) -> Any:
    """The result of a task while a worker runs it. Raises NotDecodable."""
    before = padded(attempts_in(log), lease.attempt - 1 + lease.crashes)
    attempts = [*before, Attempt(lease.worker, lease.begun_ms)]
    result = _made(lease, task, "RUNNING", decode_arguments(lease.name, lease.args), attempts, lease.begun_ms)
    return fill(result, enqueued_at=moment(lease.created_ms or lease.begun_ms - lease.wait_ms))


def new_result(task: Any, id: str, backend: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of a task that is about to be pushed. Raises TypeError for arguments that are not plain JSON."""
    return _result(task, id, backend, "READY", (list(args), dict(kwargs)), [], None)


def fill(result: Any, **values: Any) -> Any:
    """Set attributes of a result, which is frozen."""
    for name, value in values.items():
        object.__setattr__(result, name, value)
    return result


def ended(result: Any, status: str, at: datetime | None, errors: Sequence[Any] = (), value: Any = None) -> Any:
    """The result of a task that ran, at its end."""
    result.errors.extend(errors)
    return fill(result, status=library("base").TaskResultStatus[status], finished_at=at, _return_value=value)


def _made(
    source: Record | Lease,
    task: Any,
    status: str,
    arguments: Arguments,
    attempts: Sequence[Attempt],
    begun: int | None,
) -> Any:
    alias = _own(source, "backend") or DEFAULT_ALIAS
    backend = alias if backend_of(alias) is not None else task.backend
    pushed = with_fields(
        task,
        backend=backend,
        priority=source.priority,
        queue_name=source.pool,
        run_after=_run_after(_own(source, "run_after")),
    )
    return _result(pushed, source.id, backend, status, arguments, attempts, begun)


def _own(source: Record | Lease, name: str) -> str:
    """A field of Django's own tasks; empty without it."""
    return str(source.own.get(name, ""))


def _result(
    task: Any, id: str, backend: str, status: str, arguments: Arguments, attempts: Sequence[Attempt], begun: int | None
) -> Any:
    base = library("base")
    first = next((attempt.begun for attempt in attempts if attempt.begun is not None), begun)
    return base.TaskResult(
        task=task,
        id=id,
        status=base.TaskResultStatus[status],
        enqueued_at=None,
        started_at=moment(first),
        finished_at=None,
        last_attempted_at=moment(begun),
        args=arguments[0],
        kwargs=arguments[1],
        backend=backend,
        errors=[attempt.error for attempt in attempts if attempt.error is not None],
        worker_ids=[attempt.worker for attempt in attempts],
    )


def _run_after(text: str) -> datetime | None:
    """The time of the push; None if a foreign program has written the field."""
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None


def _arguments(record: Record) -> Arguments:
    """The arguments; unreadable ones are left out, because they are the reason of the quarantine."""
    try:
        return decode_arguments(record.name, record.args)
    except NotDecodable:
        return [], {}


def _attempts_of(record: Record, log: Iterable[bytes]) -> list[Attempt]:
    """The attempts in the log, and the last start, which has no log line if it did not fail."""
    found, last = attempts_in(log), Attempt(record.worker, record.begun)
    if record.state == State.CANCELLED:  # whatever its last start raised: a cancelled task has no failed attempt there
        found = [each._replace(error=None) if each.begun == record.begun else each for each in found]
    has_more = record.state in (State.LOCKED, State.SUCCEEDED)
    if has_more or (record.state in TERMINAL and record.begun and all(each.begun != record.begun for each in found)):
        found.append(last)
    return padded(found, record.attempt + record.crashes + has_more)


def _end_errors(record: Record, attempts: Iterable[Attempt]) -> list[Any]:
    """The error of the task's end, if no attempt had it."""
    match record.state:
        case State.CANCELLED:
            return [own_error(TaskCancelled, record.reason)]
        case State.QUARANTINED:
            return [own_error(TaskQuarantined, record.reason)]
        case State.FAILED if not any(each.error and each.begun == record.begun for each in attempts):
            return [stored_error(record.error) if record.error else own_error(TaskFailed, record.reason)]
    return []
