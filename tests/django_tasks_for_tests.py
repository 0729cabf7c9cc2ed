"""Tasks in the words of Django."""

from __future__ import annotations

try:
    from django.tasks import task
except ModuleNotFoundError:
    from django_tasks import task


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
