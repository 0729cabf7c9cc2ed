"""Django signals about tasks outside of their execution: pushed, expired, and cancelled before a worker ran them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import Any

from django.dispatch import Signal

from queueops.errors import QueueOpsError
from queueops.model import kinds
from queueops.model.endings import Ended
from queueops.model.states import State
from queueops.redis import broker as brokers
from queueops.results.handle import TaskHandle
from queueops.tasks import registry
from queueops.tasks.metadata import decode_meta

task_pushed = Signal()
task_expired = Signal()
task_cancelled = Signal()
TOLD = {"pushed": task_pushed, "expired": task_expired}
"""Signals of what the store did by itself, by its word."""

logger = logging.getLogger("queueops.signals")


def tell(signal: Signal, kind: str, name: str, handle: TaskHandle[Any], meta: bytes, **facts: Any) -> None:
    """Send a signal to its receivers. The sender is the task object. Django logs a receiver that raises."""
    sender = task_of(kind, name)
    signal.send_robust(sender=sender, task=sender, handle=handle, meta=decode_meta(meta), **facts)


def task_of(kind: str, name: str) -> Any:
    """The task object of a kind and a name; its kind if this process has none."""
    return getattr(registry.handlers().get((kind, name)), "task", kind)


def wanted() -> bool:
    """Whether a signal of what the store did has a receiver."""
    return any(signal.receivers for signal in TOLD.values())


def send(news: Sequence[Ended]) -> None:
    """Send the signals of what the store did in a call of this process."""
    for each in news:
        signal = TOLD.get(each.state)
        if signal is not None and signal.receivers:
            _tell_of(signal, each.pool, each.id)


def kinds_cancelled() -> Collection[str]:
    """The kinds whose cancelled tasks have receivers. What is made of tasks has signals of its own."""
    return [kind for kind in ("task", *kinds.records()) if not _is_tree(kind)] if task_cancelled.receivers else ()


def tell_cancelled(pool: str, ids: Sequence[str]) -> None:
    """Send `task_cancelled` for the tasks that this process has just cancelled, and that no worker ran."""
    for task_id in ids:
        _tell_of(task_cancelled, pool, task_id)


def _tell_of(signal: Signal, pool: str, task_id: str) -> None:
    """Read what the receivers get. A store that does not answer now costs the signal alone."""
    try:
        record = brokers.get_broker().record(pool, task_id)
    except QueueOpsError as error:
        logger.warning("A signal about the task %s is not sent: %s", task_id, error)
        return
    if record is None or (signal is task_cancelled and (record.state != State.CANCELLED or _is_tree(record.kind))):
        return
    facts = {"context": None, "reason": record.reason} if signal is task_cancelled else {}
    tell(signal, record.kind, record.name, TaskHandle(task_id, pool), record.meta, **facts)


def _is_tree(kind: str) -> bool:
    """Whether the records of a kind are trees of tasks."""
    return kinds.of_record(kind, "tree.endings") is not None
