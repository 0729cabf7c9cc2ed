"""Django signals about the executions of tasks, sent in the worker process that runs them.

The sender is the task object. Every receiver gets `context`; besides, `task_succeeded` brings `result`, `task_failed`
and `task_retried` bring `error`, `task_retried` also `delay` in seconds, and `task_cancelled` brings `reason`. A
receiver that raises is logged and harms nothing.
"""

from __future__ import annotations

from typing import Any

from django.dispatch import Signal

from queueops.context import Context

task_started = Signal()
task_succeeded = Signal()
task_failed = Signal()
task_retried = Signal()
task_cancelled = Signal()


def send(signal: Signal, context: Context, **facts: Any) -> None:
    """Tell the receivers, where there are any."""
    if signal.receivers:
        signal.send_robust(sender=context.task, context=context, **facts)


async def asend(signal: Signal, context: Context, **facts: Any) -> None:
    """The same from the event loop."""
    if signal.receivers:
        await signal.asend_robust(sender=context.task, context=context, **facts)
