"""Attempts of a Django task, read from its log: workers, times and errors.

A start counts as an attempt if it failed, lost its worker, or began again with `count_attempt`. The record has the
number of attempts, the log (its last 100 lines) their details.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from queueops.contrib.django_library import library
from queueops.errors import QueueOpsError, TaskFailed
from queueops.model.states import TERMINAL
from queueops.model.task_error import StoredError
from queueops.redis.query_replies import read_object


class WorkerLost(QueueOpsError):
    """The worker process ended while it ran the task: {reason}"""


class HardTimeout(QueueOpsError):
    """The worker process was killed because the task exceeded its hard limit: {reason}"""


class TaskQuarantined(QueueOpsError):
    """No worker can run the task: {reason}"""


class Attempt(NamedTuple):
    """One start: its worker, its time in ms, and the TaskError that it ended with. Unknown: empty."""

    worker: str = ""
    begun: int | None = None
    error: Any = None


def attempts_in(log: Iterable[bytes]) -> list[Attempt]:
    """The ended attempts, oldest first. An operator's retry of an ended task begins a new count."""
    found: list[Attempt] = []
    crashes: Any = 0
    for line in (read_object(data) or {} for data in log):
        kind = line.get("k")
        if kind == "operator" and line.get("verb") == "retry" and line.get("from") in TERMINAL:
            found, crashes = [], 0
        elif kind == "error":
            found.append(_attempt(line, stored_error(str(line.get("error")))))
        elif kind == "crash" and line.get("crash") != crashes:  # else it does not count: another task killed the worker
            crashes = line.get("crash")
            found.append(_attempt(line, own_error(WorkerLost, str(line.get("text") or ""))))
        elif kind == "restart" and line.get("attempt"):
            found.append(_attempt(line, None))
    return found


def padded(attempts: list[Attempt], count: int) -> list[Attempt]:
    """One entry for each attempt that the record counts; entries without a log line are empty."""
    return [Attempt()] * (count - len(attempts)) + attempts


def stored_error(data: bytes | str) -> Any:
    """The TaskError of an error as the worker stored it."""
    try:
        error = msgspec.json.decode(data, type=StoredError)
    except msgspec.MsgspecError:  # a foreign program has written to the log
        return own_error(TaskFailed, str(data[:200]))
    if error.type == HardTimeout.__name__:  # a supervisor has written it, and no exception was raised
        return own_error(HardTimeout, error.message)
    path = error.type if "." in error.type else f"builtins.{error.type}"
    return _task_error(path, error.traceback or error.message)


def own_error(kind: type[Exception], text: str) -> Any:
    """The TaskError of an end without an exception of the task."""
    return _task_error(f"{kind.__module__}.{kind.__qualname__}", text)


def _task_error(path: str, traceback: str) -> Any:
    return library("base").TaskError(exception_class_path=path, traceback=traceback)


def _attempt(line: Mapping[str, Any], error: Any) -> Attempt:
    begun = line.get("begun")
    return Attempt(str(line.get("worker") or ""), int(begun) if isinstance(begun, (int, float)) else None, error)
