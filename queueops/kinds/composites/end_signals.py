"""Sending of the end signals of chains, groups and iterators, in the process whose store call ended them."""

from __future__ import annotations

from collections.abc import Sequence

from queueops.kinds.composites.signals import composite_cancelled, composite_failed, composite_succeeded
from queueops.model.endings import Ended
from queueops.results.handle import TaskHandle
from queueops.tasks import registry

BY_STATE = {
    "succeeded": composite_succeeded,
    "failed": composite_failed,
    "cancelled": composite_cancelled,
}
"""By the state that a composite has ended in."""


def wanted() -> bool:
    """Whether any signal has a receiver."""
    return any(signal.receivers for signal in BY_STATE.values())


def send(ended: Sequence[Ended]) -> None:
    """Call the receivers in this thread. Django logs a receiver that raises; the others still run."""
    for each in ended:
        signal = BY_STATE.get(each.state)
        if signal is not None and signal.receivers:
            handle: TaskHandle[object] = TaskHandle(each.id, each.pool)
            signal.send_robust(
                sender=_sender(each), handle=handle, name=each.name, kind=each.kind, state=each.state, root=each.root
            )


def _sender(ended: Ended) -> object:
    """The sender: the task of the composite's class; its kind if it has no class, or an unknown one."""
    handler = registry.handlers().get((ended.kind, ended.name))
    return getattr(handler, "task", ended.kind)
