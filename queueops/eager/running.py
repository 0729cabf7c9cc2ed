"""Cancellation of eager tasks: registers the running tasks, so that a cancel from any thread reaches them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from queueops.errors import Cancelled
from queueops.model.reasons import kept
from queueops.model.records import Record
from queueops.model.states import State
from queueops.worker.execution.slot import AsyncSlot, Slot

Key = tuple[str, str]


class RunningTasks:
    """The slots of the running tasks, by pool and id, and the cancel reasons."""

    def __init__(self) -> None:
        self._slots: dict[Key, Slot] = {}
        self._reasons: dict[Key, str] = {}

    @contextmanager
    def entered(self, pool: str, task_id: str, slot: Slot) -> Iterator[None]:
        """Register the task with this slot in the block."""
        before = self._slots.get((pool, task_id))  # of a running task that this task replaces
        self._slots[pool, task_id] = slot
        try:
            yield
        finally:
            if before is None:
                del self._slots[pool, task_id]
            else:
                self._slots[pool, task_id] = before

    def cancel(self, pool: str, task_id: str, reason: str, *, hard: bool) -> None:
        """Cancel a running task with its chunks, or a task whose parts or chunks are running."""
        self._reasons[pool, task_id] = kept(reason)
        for (where, key), slot in list(self._slots.items()):
            if where == pool and key.partition("#")[0] == task_id:
                _stop(slot, kept(reason), hard=hard)

    def reason(self, pool: str, task_id: str) -> str | None:
        """The reason of the cancel; None if the task was not cancelled."""
        return self._reasons.get((pool, task_id))

    def ends(self, record: Record) -> bool:
        """Whether the task was cancelled; if so, that is its outcome."""
        reason = self.reason(record.pool, record.id)
        if reason is None:
            return False
        record.state, record.reason, record.ended = State.CANCELLED, reason, int(time.time() * 1000)
        record.error, record.fingerprint = b"", ""
        return True

    def forget(self, pool: str, task_id: str) -> None:
        """Forget the cancel reason: a new run of the task begins."""
        self._reasons.pop((pool, task_id), None)


def _stop(slot: Slot, reason: str, *, hard: bool) -> None:
    lease, context = slot.lease, slot.context
    if lease is None or context is None:
        return
    context.ask_to_cancel(reason)
    if hard or isinstance(slot, AsyncSlot):
        slot.stop(lease, Cancelled)
