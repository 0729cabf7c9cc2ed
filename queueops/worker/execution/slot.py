"""Execution slot: runs one task at a time, in a pool thread or in a coroutine of the event loop.

An interrupt from outside races with the task's own end. The rule: at most one interrupt per task, sent under the slot's
lock, and only while the slot is open. Code that ends a task first closes the slot under that lock. So an interrupt can
arrive late in its own task (after its last line, before the slot is closed). It never reaches the next task.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
import time
from abc import ABC, abstractmethod

from queueops.errors import Cancelled, Interrupt
from queueops.model.contracts import Lease
from queueops.tasks.context import Context
from queueops.worker.execution.async_slot_thread import AsyncSlotThread
from queueops.worker.shared_slot_table import NEVER, SlotTable

MARGIN = 0.1
MIN_MARGIN = 1.0
"""The share of the timeout between the soft and the hard limit, and its minimum in seconds."""


class Slot(ABC):
    """One slot: its task and the task's time limit. Times are seconds of the monotonic clock."""

    passes: tuple[type[BaseException], ...] = ()
    """Exceptions that end the slot and not the task: none in a worker, KeyboardInterrupt in a test."""
    cleans = True
    """Whether the database connections of its thread are cleaned around each task; not in a test, which has its own."""

    __slots__ = ("_table", "context", "deadline", "end_at", "interrupt", "lease", "lock", "number", "started")

    def __init__(self, number: int, table: SlotTable) -> None:
        self.number = number
        self.lock = threading.Lock()
        self.lease: Lease | None = None
        self.context: Context | None = None
        self.started = 0.0
        self.deadline = NEVER
        self.end_at = NEVER
        self.interrupt: type[Interrupt] | None = None
        self._table = table

    def open(self, lease: Lease, context: Context, now: float) -> bool:
        """Start a task here; False if the supervisor may have given it back since it was claimed.

        The slot writes its record before it reads the epoch. The supervisor writes the epoch before it reads the
        records. Therefore either the supervisor sees that the task has started, or the task sees that it must not
        start.
        """
        timeout = lease.timeout_ms
        self.context = context
        self.started = now
        self.interrupt = None
        self.end_at = NEVER
        if timeout is None:
            self.deadline = hard = NEVER
        else:
            self.deadline = now + timeout / 1000
            hard = self.deadline + max(MIN_MARGIN, timeout / 1000 * MARGIN)
        epoch = self._table.start(self.number, lease.id, lease.pool, lease.fence, now, hard, lease.attempt)
        if context.epoch != epoch:
            self.context = None
            self._table.withdraw(self.number)
            return False
        self.lease = lease
        return True

    def close(self) -> None:
        """Mark the end of the task's own code: from here on no interrupt is sent."""
        with self.lock:
            self.lease = None
            self.deadline = NEVER

    def clear(self) -> None:
        """Clear the record of a task whose outcome is known, even if an interrupt hit `close` itself."""
        if self.lease is not None:
            with self.lock:  # otherwise `end`, half done, would write a hard limit for a slot that is idle by then
                self.lease = None
        self.context = None
        self._table.clear(self.number)

    def extend(self, lease: Lease, seconds: float) -> None:
        """Move the time limit of the running task."""
        with self.lock:
            if self.lease is lease and self.deadline != NEVER:
                self._limit(lease, self.deadline + seconds)

    def set_deadline(self, lease: Lease, seconds: float) -> None:
        """Set the time limit of the running task, counted from now."""
        with self.lock:
            if self.lease is lease:
                self._limit(lease, time.monotonic() + seconds)

    def _limit(self, lease: Lease, deadline: float) -> None:
        self.deadline = deadline
        if self.context is not None:
            self.context.limit_s = max(0.0, deadline - self.started)
        self._tell(lease)

    def end(self, lease: Lease) -> None:
        """Interrupt the task. If that does not end it soon, its process is killed."""
        self.stop(lease, Cancelled)
        with self.lock:
            if self.lease is lease and self.end_at == NEVER:
                self.end_at = time.monotonic() + MIN_MARGIN
                self._tell(lease)

    def _tell(self, lease: Lease) -> None:
        """Write the hard limit for the supervisor, and whether a hard cancel has set it."""
        limit, started = self.hard_limit, self.started
        cancelled = limit == self.end_at != NEVER
        self._table.start(self.number, lease.id, lease.pool, lease.fence, started, limit, lease.attempt, cancelled)

    @property
    def hard_limit(self) -> float:
        """When the supervisor kills the process, if the task still runs."""
        if self.deadline == NEVER:
            return self.end_at
        return min(self.end_at, self.deadline + max(MIN_MARGIN, (self.deadline - self.started) * MARGIN))

    def stop(self, lease: Lease, kind: type[Interrupt]) -> bool:
        """Interrupt the task, once. False if it has ended or was interrupted before."""
        with self.lock:
            if self.lease is not lease or self.interrupt is not None:
                return False
            self.interrupt = kind
            if self.context is not None:
                self.context.interrupt = kind
            self._raise(kind)
            return True

    def cancel(self, lease: Lease, reason: str, *, lost: bool = False) -> None:
        """Ask the task to stop; ``lost``: it may run elsewhere."""
        if (context := self.context) is not None and self.lease is lease:
            context.ask_to_cancel(reason, lost=lost)

    def seconds(self) -> float:
        """How long the current task has been running."""
        return time.monotonic() - self.started

    @abstractmethod
    def _raise(self, kind: type[Interrupt]) -> None:
        """Interrupt the running code."""


class ThreadSlot(Slot):
    """A thread. The interrupt is raised between two byte codes; a system call is not interrupted."""

    __slots__ = ("asked", "thread", "thread_id")

    def __init__(self, number: int, table: SlotTable) -> None:
        super().__init__(number, table)
        self.asked = 0  # how many items the thread has requested so far
        self.thread: threading.Thread | None = None
        self.thread_id = 0

    def _raise(self, kind: type[Interrupt]) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.thread_id), ctypes.py_object(kind))


class AsyncSlot(Slot):
    """A coroutine. It is interrupted by cancellation at its next ``await``."""

    __slots__ = ("loop", "own_thread", "task")

    def __init__(self, number: int, table: SlotTable, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(number, table)
        self.loop = loop
        self.own_thread = AsyncSlotThread()
        self.task: asyncio.Task[None] | None = None

    def cancel(self, lease: Lease, reason: str, *, lost: bool = False) -> None:
        """Ask the task to stop, and cancel its coroutine."""
        super().cancel(lease, reason, lost=lost)
        self.stop(lease, Cancelled)

    def _raise(self, kind: type[Interrupt]) -> None:
        self.loop.call_soon_threadsafe(self._cancel, self.task)

    def _cancel(self, task: asyncio.Task[None] | None) -> None:
        if task is not None and task is self.task and self.lease is not None:
            task.cancel()
