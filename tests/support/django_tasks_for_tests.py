"""Tasks in the words of Django."""

from __future__ import annotations

from datetime import date

try:
    from django.tasks import task
except ModuleNotFoundError:
    from django_tasks import task

from queueops import Permanent, RetryLater, current
from queueops.errors import SoftTimeout

DEEP: list[object] = []
DEEP.append(DEEP)


@task()
def add(a, b=1):
    """Add two numbers."""
    return a + b


@task()
async def add_later(a, b=1):
    """Add two numbers, on the loop."""
    return a + b


@task(takes_context=True)
def which(context):
    """Say which attempt it is, of which task."""
    return [context.attempt, context.task_result.id]


@task(priority=7, queue_name="mail")
def fail():
    """Raise."""
    raise KeyError("missing")


@task(takes_context=True)
def describe(context):
    """Say what the task's result is while it runs."""
    result = context.task_result
    return {
        "attempt": context.attempt,
        "status": result.status,
        "backend": result.backend,
        "queue": result.task.queue_name,
        "enqueued_at": result.enqueued_at.isoformat(),
        "started_at": result.started_at.isoformat(),
        "run_after": result.task.run_after and result.task.run_after.isoformat(),
        "worker_ids": result.worker_ids,
        "errors": [error.exception_class_path for error in result.errors],
    }


@task(takes_context=True)
def fail_until(context, attempt):
    """Raise another error each time, until the attempt with this number."""
    if context.attempt < attempt:
        raise [KeyError, IndexError][context.attempt - 1](f"attempt {context.attempt}")
    return describe.func(context)


@task()
def give(kind):
    """Return what cannot be stored, or what changes on its way."""
    return {"date": date(2026, 1, 31), "function": give, "tuple": (1, 2), "deep": DEEP, "nan": float("nan")}[kind]


@task()
async def give_later(kind):
    """Return the same, on the loop."""
    return give.func(kind)


@task()
def leave(how):
    """End in a way that is not an ordinary exception."""
    if how == "exit":
        raise SystemExit("left")
    if how == "timeout":
        raise SoftTimeout(seconds=1)
    if how == "later":
        raise RetryLater(3600, KeyError("busy"))
    if how == "permanent":
        raise Permanent(KeyError("closed"))
    current().cancel("not needed any more") if how == "cancel" else current().restart(count_attempt=True)


@task()
async def leave_later(how):
    """The same, on the loop."""
    leave.func(how)
