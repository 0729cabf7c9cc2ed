"""A place in which one task runs at a time: a thread of the pool, or a coroutine of the event loop.

Interrupting from outside is a race with the task's own end. The rule: an interrupt is sent at most once per task, under
the slot's lock, and only while the slot is open; code that ends a task closes the slot under that lock first. So an
interrupt can meet its own task late (after its last line, before the slot is closed), but never the next task.
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
from queueops.worker.supervisor.shared_slot_table import NEVER, SlotTable

MARGIN = 0.1
MIN_MARGIN = 1.0
"""Between the soft and the hard limit: a tenth of the timeout, at least so many seconds."""


class Slot(ABC):
    """What it runs and until when. Times are seconds of the monotonic clock."""

    passes: tuple[type[BaseException], ...] = ()
    """Exceptions that do not end the task but leave the slot: none in a worker; Ctrl-C in a test."""

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
        """A task starts here; False when the supervisor may have given it back since it was claimed.

        The record is written before the epoch is read, and the supervisor writes the epoch before it reads the
        records: either it sees that the task has started, or the task sees that it must not.
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
        """The task's own code has ended: from here on no interrupt is sent."""
        with self.lock:
            self.lease = None
            self.deadline = NEVER

    def clear(self) -> None:
        """The outcome is known; the task no longer counts as started here, though an interrupt met `close` itself."""
        if self.lease is not None:
            with self.lock:  # or `end`, half-way through, would write a hard limit for a slot that is idle then
                self.lease = None
        self.context = None
        self._table.clear(self.number)

    def extend(self, lease: Lease, seconds: float) -> None:
        """Move the time limit of the running task."""
        with self.lock:
            if self.lease is lease and self.deadline != NEVER:
                self._limit(lease, self.deadline + seconds)

    def set_deadline(self, lease: Lease, seconds: float) -> None:
        """Set the time limit of the running task, from now on."""
        with self.lock:
            if self.lease is lease:
                self._limit(lease, time.monotonic() + seconds)

    def _limit(self, lease: Lease, deadline: float) -> None:
        self.deadline = deadline
        if self.context is not None:
            self.context.limit_s = max(0.0, deadline - self.started)
        self._tell(lease)

    def end(self, lease: Lease) -> None:
        """Interrupt the task; when that does not end it soon, its process is killed."""
        self.stop(lease, Cancelled)
        with self.lock:
            if self.lease is lease and self.end_at == NEVER:
                self.end_at = time.monotonic() + MIN_MARGIN
                self._tell(lease)

    def _tell(self, lease: Lease) -> None:
        """Let the supervisor know the hard limit, and whether a hard cancel has set it."""
        limit, started = self.hard_limit, self.started
        cancelled = limit == self.end_at != NEVER
        self._table.start(self.number, lease.id, lease.pool, lease.fence, started, limit, lease.attempt, cancelled)

    @property
    def hard_limit(self) -> float:
        """When the supervisor kills the process, if the task still runs then."""
        if self.deadline == NEVER:
            return self.end_at
        return min(self.end_at, self.deadline + max(MIN_MARGIN, (self.deadline - self.started) * MARGIN))

    def stop(self, lease: Lease, kind: type[Interrupt]) -> bool:
        """Interrupt the task, once. False when it has ended or was interrupted before."""
        with self.lock:
            if self.lease is not lease or self.interrupt is not None:
                return False
            self.interrupt = kind
            self._raise(kind)
            return True

    def seconds(self) -> float:
        """How long the present task has been running."""
        return time.monotonic() - self.started

    @abstractmethod
    def _raise(self, kind: type[Interrupt]) -> None:
        """Interrupt what runs here."""


class ThreadSlot(Slot):
    """A thread. The interrupt is raised in it between two byte codes; a system call is not interrupted."""

    __slots__ = ("asked", "thread", "thread_id")

    def __init__(self, number: int, table: SlotTable) -> None:
        super().__init__(number, table)
        self.asked = 0  # how often it has asked for what comes next
        self.thread: threading.Thread | None = None
        self.thread_id = 0

    def _raise(self, kind: type[Interrupt]) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.thread_id), ctypes.py_object(kind))


class AsyncSlot(Slot):
    """A coroutine. It is interrupted by being cancelled at its next ``await``."""

    __slots__ = ("annexe", "loop", "task")

    def __init__(self, number: int, table: SlotTable, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(number, table)
        self.loop = loop
        self.annexe = AsyncSlotThread()
        self.task: asyncio.Task[None] | None = None

    def _raise(self, kind: type[Interrupt]) -> None:
        self.loop.call_soon_threadsafe(self._cancel, self.task)

    def _cancel(self, task: asyncio.Task[None] | None) -> None:
        if task is not None and task is self.task and self.lease is not None:
            task.cancel()
