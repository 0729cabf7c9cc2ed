"""Errors about the definition of a task and about its push: see ``errors``."""

from __future__ import annotations

from django.core.exceptions import SynchronousOnlyOperation

from queueops.errors import QueueOpsError


class BadTask(QueueOpsError, TypeError):
    """{reason}"""

    reason: str


class WaitOnEventLoop(QueueOpsError, SynchronousOnlyOperation):
    """result() would stop the event loop that runs in this thread until the task ends. Write
    "await handle.aresult(timeout=...)", or leave it to a thread with sync_to_async().
    """


class CodeElsewhere(QueueOpsError, RuntimeError):
    """The task {name} cannot be called here: this process does not have its code. Use push(...)."""

    name: str


class NotImportable(QueueOpsError, RuntimeError):
    """The task {name} cannot be pushed: workers do not find its code: {reason}."""

    name: str
    reason: str


class TooManyPausedNames(QueueOpsError):
    """The name {name} is not paused: {limit} other names of the pool {pool} are, which is the most. Resume some."""

    name: str
    pool: str
    limit: int
