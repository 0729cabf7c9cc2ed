"""Thread executor: runs the tasks of this process in a thread pool, and async tasks on an event loop.

The dispatcher submits leases and collects ended tasks from ``done``. The self-pipe wakes the main loop only when the
loop waits and little is left to do. A small task then costs no system call.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import attrgetter
from typing import Any

from queueops.errors import Interrupt
from queueops.model.contracts import Lease, Settlement
from queueops.model.ports import Handler
from queueops.tasks import registry
from queueops.tasks.context import Channel, Context
from queueops.tasks.process_scope import CLOSE_WITHIN
from queueops.worker.execution import db_connections, settlements
from queueops.worker.execution.async_executor import AsyncExecutor
from queueops.worker.execution.execution import execute
from queueops.worker.execution.executor_pause import ExecutorPause
from queueops.worker.execution.idle_listener import IdleListener
from queueops.worker.execution.slot import Slot, ThreadSlot
from queueops.worker.execution.task_start import ExecutorSlot, TaskExecutor
from queueops.worker.execution.thread_queue import ThreadQueue
from queueops.worker.shared_slot_table import SlotTable

Done = tuple[Lease, Settlement, float]
"""A lease, its settlement, and its run time in milliseconds."""

logger = logging.getLogger("queueops.worker")
_monotonic = time.monotonic
_asked: Callable[[ThreadSlot], int] = attrgetter("asked")


class ThreadExecutor:
    """Runs up to ``threads`` sync tasks and as many async tasks at a time. Threads are started on demand.

    The thread that makes the loop's turn holds ``awake``. While the loop sleeps, a thread of this executor can make the
    turn (``stand_in``).
    """

    def __init__(
        self, threads: int, table: SlotTable, channel: Channel, ring: Callable[[], None], stand_in: Callable[[], None],
        executor: TaskExecutor | None = None,
    ) -> None:  # fmt: skip
        """``executor``: runs all tasks in place of these threads, which then only wait for it."""
        self.done: deque[Done] = deque()
        self.waiting = False
        self.awake = threading.Lock()
        self.low = 0
        self.epoch = table.epoch  # tasks submitted in an earlier epoch are refused at their start
        self._limit = threads
        self._channel = channel
        self._executor = executor
        self.pause = ExecutorPause()
        self._ring = ring
        self._stand_in = stand_in
        self._keeps = False
        self.kept: Context | None = None
        """The task that the thread which makes this turn has kept: it starts it after the turn."""
        self._queue: ThreadQueue[Context | IdleListener | None] = ThreadQueue()
        self._idle_listener: IdleListener | None = None  # an idle thread watches it, or will soon
        self._posted = False  # whether the idle listener is in the queue
        self._handlers: dict[tuple[str, str, str], Handler] = {}
        self._table = table
        self.broken: BaseException | None = None  # the error that ended a slot; the loop then ends the process
        self._slots: list[ThreadSlot] = []
        self._async = AsyncExecutor(threads, table, self._ended, self._refused, self._broke)
        self._unwanted: dict[tuple[str, int], str] = {}

    def submit(self, leases: Iterable[Lease]) -> None:
        """Run these tasks, in this order, as slots become free."""
        if self.pause.failures:
            self.pause.claimed(_monotonic())
        if self._unwanted and not self.queued():
            self._unwanted.clear()
        asynchronous, synchronous = [], []
        for lease in leases:
            handler = self._handlers.get((lease.kind, lease.name, lease.phase)) or self._find(lease)
            if handler is None:
                continue
            context = Context(lease, handler, self._channel, self.epoch)
            if handler.is_async and self._executor is None:
                asynchronous.append(context)
            elif self._keeps:
                self._keeps, self.kept = False, context
            else:
                synchronous.append(context)
        if synchronous:
            self._queue.put(*synchronous)
        for _ in synchronous:
            if len(self._slots) < self._limit and self._queue.items:
                self._start_thread()
            elif self._idle_listener is not None and self._resting() < 0:
                self._idle_listener.recall()
        if asynchronous:
            self._async.submit(asynchronous)

    def queued(self) -> int:
        """How many tasks wait for a slot."""
        return len(self._queue.items) - self._posted + len(self._async.waiting)

    def has_rest(self) -> bool:
        """Whether no task waits for a slot, a thread is idle, and no thread watches the idle listener."""
        return self._idle_listener is None and self._resting() > 0 and not self.queued()

    def post(self, listener: IdleListener) -> None:
        """Let an idle thread watch the wake-up listeners. It runs the first task that it receives."""
        self._idle_listener, self._posted = listener, True
        self._queue.put(listener)

    def running(self) -> Iterator[tuple[Slot, Lease]]:
        """Every slot that runs a task, with the lease."""
        for slot in (*self._slots, *self._async.slots):
            lease = slot.lease
            if lease is not None:
                yield slot, lease

    def slot_of(self, lease: Lease) -> Slot | None:
        """The slot in which a task runs; None if it does not run yet, or no longer."""
        for slot in (*self._slots, *self._async.slots):
            if slot.lease is lease:
                return slot
        return None

    def interrupt(self, lease: Lease, kind: type[Interrupt]) -> bool:
        """Raise ``kind`` in the task, once; False if it does not run, or was interrupted before."""
        slot = self.slot_of(lease)
        return slot is not None and slot.stop(lease, kind)

    def cancel(self, lease: Lease, reason: str, *, lost: bool = False) -> None:
        """Ask the task to stop (``lost``: it may run elsewhere). An async task is cancelled at its ``await``.

        A task that was not started here is not started any more.
        """
        slot = self.slot_of(lease)
        if slot is None:
            self._unwanted[lease.pool, lease.fence] = reason
        else:
            slot.cancel(lease, reason, lost=lost)

    def end(self, lease: Lease) -> None:
        """Interrupt the task. If it still runs a second later, it is killed together with this process."""
        slot = self.slot_of(lease)
        if slot is not None:
            slot.end(lease)

    def take_back(self) -> list[Lease]:
        """Remove and return the tasks that were not started, in their order."""
        taken: list[Lease] = []
        others: list[IdleListener | None] = []
        while True:
            try:
                item = self._queue.take_back()
            except IndexError:
                break
            if isinstance(item, Context):
                taken.append(item.lease)
            else:
                others.append(item)
        for other in others:
            self._queue.put(other)
        return taken + self._async.take_back()

    def close(self, seconds: float) -> bool:
        """End the threads and the event loop; False if a task still runs after this many seconds."""
        for _ in self._slots:
            self._queue.put(None)
        if self._idle_listener is not None:
            self._idle_listener.recall()
        deadline = _monotonic() + seconds
        for thread in self._threads():
            thread.join(max(0.0, deadline - _monotonic()))
        if self._executor is not None:
            self._close_in_time(self._executor)
        return self._async.close(max(0.0, deadline - _monotonic())) and not any(
            thread.is_alive() for thread in self._threads()
        )

    def _close_in_time(self, executor: TaskExecutor) -> None:
        closing = threading.Thread(target=_closed, args=(executor,), name="queueops-closing", daemon=True)
        closing.start()
        closing.join(CLOSE_WITHIN)
        if closing.is_alive():
            logger.error("The executor was not closed within %g s: the process ends without it", CLOSE_WITHIN)

    def _threads(self) -> list[threading.Thread]:
        return [slot.thread for slot in self._slots if slot.thread is not None]

    def _find(self, lease: Lease) -> Handler | None:
        """Return the handler of a task; a task without a handler is ended here."""
        reason = ""
        try:
            handler = registry.find(lease.kind, lease.name, lease.phase)
        except BaseException as error:  # SystemExit too: code that is imported here must end its task, not the loop
            handler, reason = None, f"the code of {lease.name!r} cannot be loaded: {type(error).__name__}: {error}"
            logger.warning("Task %s waits: %s", lease.id, reason)
        if handler is None:
            self._ended(lease, settlements.unknown(lease, reason), 0.0)
        else:
            self._handlers[lease.kind, lease.name, lease.phase] = handler
        return handler

    def _start_thread(self) -> None:
        slot = ThreadSlot(len(self._slots), self._table)
        if self._executor is not None:
            slot = ExecutorSlot(slot.number, self._table, self._executor, self._channel, self.pause)
        slot.thread = threading.Thread(target=self._work, args=(slot,), name=f"queueops-{slot.number}", daemon=True)
        self._slots.append(slot)
        slot.thread.start()

    def _work(self, slot: ThreadSlot) -> None:
        slot.thread_id = threading.get_ident()
        run: Callable[[Any, Context], Settlement] = ExecutorSlot.execute if isinstance(slot, ExecutorSlot) else execute
        take, queued, done = self._queue.taker(), self.queued, self.done.append
        kept: Context | None = None
        while True:
            try:
                context, kept = kept, None
                if context is None:
                    slot.asked += 1
                    item = take()
                    if isinstance(item, IdleListener):
                        kept = self._watch(item)
                        continue
                    if item is None:
                        db_connections.close_all()
                        return
                    context = item
                started = _monotonic()
                settlement = (self._unwanted and self._refused(context)) or run(slot, context)
                done((context.lease, settlement, (_monotonic() - started) * 1000))
                if self.waiting and queued() <= self.low:
                    kept = self._tell()
            except Interrupt:
                logger.warning("An interrupt came when its task had ended already")
                self._ring()  # it may have hit this thread when it was to make the loop's turn
            except Exception as error:  # an engine error: a process with a dead thread would hold its leases for ever
                self._broke(error)
                return

    def _tell(self) -> Context | None:
        """Wake the sleeping loop because a task ended, or make its turn here if this thread is otherwise idle.

        The steps of a chain then follow each other in one thread, without a wake-up. Returns what to run next.
        """
        self.waiting = False
        if self._queue.items or not self.awake.acquire(blocking=False):
            self._ring()
            return None
        try:
            return self._first_of(self._stand_in)
        finally:
            self.awake.release()

    def _watch(self, listener: IdleListener) -> Context | None:
        """Watch the wake-up listeners until there is a task to run, or this thread is needed elsewhere.

        The loop is woken in both cases.
        """
        self._posted = False
        while True:
            events = listener.wait()
            with self.awake:
                kept = self._first_of(partial(listener.heed, events))
                if not listener.manned:
                    self._idle_listener = None
                    break
        self._ring()
        return kept

    def _first_of(self, turn: Callable[[], None]) -> Context | None:
        """Make a turn in this thread; return the first task of its reply, which this thread runs."""
        self._keeps = True
        try:
            turn()
        finally:
            kept, self.kept, self._keeps = self.kept, None, False
        return kept

    def _resting(self) -> int:
        """How many threads are idle; negative: how many items wait for a thread.

        A thread that was given an item is not idle, even if it has not noticed yet.
        """
        return sum(map(_asked, self._slots)) - self._queue.given

    def _refused(self, context: Context) -> Settlement | None:
        """Return the settlement of a task cancelled before its start: it goes back to the store, which cancels it."""
        lease = context.lease
        reason = self._unwanted.pop((lease.pool, lease.fence), None)
        return None if reason is None else settlements.released(lease, reason)

    def _broke(self, error: BaseException) -> None:
        self.broken = error
        self._ring()

    def _ended(self, lease: Lease, settlement: Settlement, run_ms: float) -> None:
        self.done.append((lease, settlement, run_ms))
        if self.waiting and self.queued() <= self.low:
            self.waiting = False
            self._ring()


def _closed(executor: TaskExecutor) -> None:
    try:
        executor.close()
    except BaseException:  # SystemExit of the project's code, too: the process ends anyway
        logger.exception("The executor could not be closed")
