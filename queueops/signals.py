"""Django signals about tasks.

Those about executions are sent in the worker process that runs them: `task_started`, `task_succeeded`, `task_failed`,
`task_retried` and `task_cancelled`. The sender is the task object. Every receiver gets `context`. `task_succeeded` also
has `result`, `task_failed` and `task_retried` have `error`. `task_failed` has `expected`, `task_retried` has `delay` in
seconds. A receiver that raises is logged and harms nothing.

`task_pushed`, `task_expired` and `task_cancelled` have `task` (also the sender), `handle` and `meta`. `task_pushed` is
sent after a push by the process that pushed, `task_expired` by the process that found the task expired.
`task_cancelled` also has `reason` and `context`. For a task that no worker ran, the process that cancels sends it, and
`context` is None.

`composite_succeeded`, `composite_failed` and `composite_cancelled` report the end of a chain, a group or an iterator.
The process whose call ended it sends them. Receivers get `handle`, `name`, `kind`, `state` and `root`.

`worker_idle` is sent each time a worker process has ended its last task and found nothing more in its pools. It has
`worker` (its id) and `pools`; the sender is None.

`worker_started` and `worker_stopping` have the same values; each worker process sends them once. `worker_started` is
sent before its first task, `worker_stopping` when the process begins to end, while its last tasks still run.
"""

from __future__ import annotations

from typing import Any

from django.dispatch import Signal

from queueops.model import kinds
from queueops.results.handle import TaskHandle
from queueops.tasks.context import Context
from queueops.tasks.producer_signals import task_cancelled as task_cancelled
from queueops.tasks.producer_signals import task_expired as task_expired
from queueops.tasks.producer_signals import task_pushed as task_pushed

task_started = Signal()
task_succeeded = Signal()
task_failed = Signal()
task_retried = Signal()
worker_started = Signal()
worker_idle = Signal()
worker_stopping = Signal()


def __getattr__(name: str) -> Signal:
    """A signal of a kind, such as those about the end of chains."""
    found: Signal = kinds.public_name("tree.signals", name)
    return found


def of_cancelled(context: Context, reason: str) -> dict[str, Any]:
    """What receivers of `task_cancelled` get of a task that ran."""
    handle: TaskHandle[Any] = TaskHandle(context.id, context.pool)
    return {"reason": reason, "task": context.task, "handle": handle, "meta": context.meta}


def send(signal: Signal, context: Context, **facts: Any) -> None:
    """Tell the receivers, where there are any."""
    if signal.receivers:
        signal.send_robust(sender=context.task, context=context, **facts)


def tell_of_worker(signal: Signal, worker: str, pools: tuple[str, ...]) -> None:
    """Tell the receivers of a signal about a worker process, where there are any."""
    if signal.receivers:
        signal.send_robust(sender=None, worker=worker, pools=pools)


async def asend(signal: Signal, context: Context, **facts: Any) -> None:
    """The same from the event loop."""
    if signal.receivers:
        await signal.asend_robust(sender=context.task, context=context, **facts)
