"""Start of a task, as the port of executors: its lease, its notes, the orders of the worker, and its settlement.

`QUEUEOPS["EXECUTOR"]` names an executor in place of the worker's own threads and event loop. All that passes between
the two is data: a lease, notes and orders go through the pipe of another process as well.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any, Protocol

import msgspec

from queueops.conf.dotted_path import imported, refused
from queueops.errors import Cancelled, Interrupt, Shutdown, SoftTimeout
from queueops.errors.executors import ExecutorUnavailable
from queueops.model.contracts import Lease, Outcome, Settlement
from queueops.model.reasons import kept
from queueops.tasks import registry
from queueops.tasks.context import Channel, Context
from queueops.worker.execution import report, settlements
from queueops.worker.execution.execution import aexecute, execute, tell
from queueops.worker.execution.executor_pause import ExecutorPause
from queueops.worker.execution.loop_threads import LoopThreads
from queueops.worker.execution.slot import AsyncSlot, Slot, ThreadSlot
from queueops.worker.shared_slot_table import SlotTable

_INTERRUPTS: dict[str, type[Interrupt]] = {"timeout": SoftTimeout, "cancel": Cancelled, "shutdown": Shutdown}
_WORDS = {kind: word for word, kind in _INTERRUPTS.items()}
_CALLS = ("execute", "close")

logger = logging.getLogger("queueops.worker")


class Order(msgspec.Struct, frozen=True):
    """What a worker asks of a running task.

    Without `interrupt` the task is asked to stop: `current().cancelled` is true, and a coroutine is cancelled.
    `interrupt` is `timeout`, `cancel` or `shutdown`: the task is stopped, whatever it does. `lost`: no cancel was
    requested, but another worker may have the lease. `limit_s` is the time limit of the task in seconds.
    """

    interrupt: str = ""
    reason: str = ""
    lost: bool = False
    limit_s: float | None = None


class TaskExecutor(Protocol):
    """What `QUEUEOPS["EXECUTOR"]` names: a class without arguments, made once in each worker process after its fork.

    The worker claims, renews, limits and settles; an executor only runs. `queueops.testing.conformance` tests these
    promises.
    """

    def execute(self, start: TaskStart) -> Settlement:
        """Run one task, and return its settlement. Called in up to `--threads` threads at a time; it may wait.

        It obeys the orders that `start.listen` brings. After an interrupt it returns within a second: the supervisor
        then kills the worker process. What runs elsewhere ends with that process, also if it is killed.

        If the code of the task is lost, as with its process, it raises. The task is then charged with a crash.

        If it cannot begin the task, as its sandbox is away, it raises `ExecutorUnavailable`. That costs the task
        nothing: it waits for some seconds, and the process claims no other one meanwhile.
        """

    def close(self) -> None:
        """Called once, at the end of the worker process. No task runs any more, or it is given back."""


class TaskStart:
    """One start of a task. `run` runs it where it is called: another process makes it of the lease and a channel."""

    def __init__(self, lease: Lease, channel: Channel) -> None:
        """``channel`` receives the task's progress, log lines and changes of its time limit."""
        self.lease = lease
        self.channel = channel
        self._began = time.monotonic()
        self._lock = threading.RLock()  # held while orders are passed on, so that they keep their order
        self._orders: list[Order] = []
        self._listener: Callable[[Order], object] | None = None

    def listen(self, listener: Callable[[Order], object]) -> None:
        """Pass on each order, and now those that came before. Called in other threads; ``listener`` must not wait."""
        with self._lock:
            self._listener = listener
            for order in list(self._orders):
                self._tell(listener, order)

    def obey(self, order: Order) -> None:
        """Give an order to the task. It is lost if the task has ended."""
        with self._lock:
            self._orders.append(order)
            if self._listener is not None:
                self._tell(self._listener, order)

    def run(self) -> Settlement:
        """Run the task in this thread, as a thread of the worker does; a coroutine gets its own event loop."""
        handler = registry.find(self.lease.kind, self.lease.name, self.lease.phase)
        if handler is None:
            return settlements.unknown(self.lease)
        context = Context(self.lease, handler, self.channel)
        with closing(SlotTable(1)) as table:
            if handler.is_async:
                return asyncio.run(self._arun(context, table))
            slot = _StartThreadSlot(0, table)
            slot.start, slot.thread_id = self, threading.get_ident()
            return execute(slot, context)

    def killed(self) -> Settlement:
        """The settlement of a task that the executor has killed, because it did not obey an interrupt."""
        context = Context(self.lease, registry.get(self.lease.kind, self.lease.name), self.channel)
        interrupt = ""
        for order in list(self._orders):
            if order.interrupt:
                interrupt, context.limit_s = order.interrupt, order.limit_s
            else:
                context.ask_to_cancel(order.reason, lost=order.lost)
        if not interrupt:
            raise RuntimeError(
                "killed() needs an interrupt before it; raise an error for a task that was lost otherwise"
            )
        error = _INTERRUPTS[interrupt]()
        if isinstance(error, SoftTimeout):
            error = settlements.with_limit(context, error)
        settlement = settlements.raised(context, error)
        tell(context, settlement, error)
        report.ended(self.lease, settlement, time.monotonic() - self._began)
        return settlement

    def lost(self, error: BaseException) -> Settlement:
        """The settlement of a task whose executor raised: a crash."""
        lease = self.lease
        logger.error("%s %s was lost by its executor", lease.name, lease.id, exc_info=error)
        reason = kept(f"its executor lost it: {type(error).__name__}: {error}")
        return Settlement(lease.id, lease.fence, Outcome.CRASH, reason.encode("utf-8", "replace"))

    async def _arun(self, context: Context, table: SlotTable) -> Settlement:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(_LeftThreads(thread_name_prefix="queueops-beside"))
        slot = _StartAsyncSlot(0, table, loop)
        slot.start, slot.task = self, asyncio.current_task()
        slot.own_thread.enter()
        try:
            return await aexecute(slot, context)
        finally:
            slot.own_thread.abandon()

    def _tell(self, listener: Callable[[Order], object], order: Order) -> None:
        try:
            listener(order)
        except Exception:  # code of the project, called by the loop of the worker
            logger.exception("An order for %s could not be passed on", self.lease.id)


class _StartThreadSlot(ThreadSlot):
    """The slot of `TaskStart.run`. It obeys once the task can be interrupted."""

    __slots__ = ("start",)
    start: TaskStart

    def open(self, lease: Lease, context: Context, now: float) -> bool:
        """Start the task, and hear the orders."""
        is_open = super().open(lease, context, now)
        self.start.listen(partial(_obey, self, context))
        return is_open


class _StartAsyncSlot(AsyncSlot):
    """The same for a coroutine."""

    __slots__ = ("start",)
    start: TaskStart

    def open(self, lease: Lease, context: Context, now: float) -> bool:
        """Start the task, and hear the orders."""
        is_open = super().open(lease, context, now)
        self.start.listen(partial(_obey, self, context))
        return is_open


class _LeftThreads(LoopThreads):
    """The same threads for one task. Its loop leaves their calls to them, as it ends with the task."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End after the last call."""
        super().shutdown(wait=False, cancel_futures=cancel_futures)


def _obey(slot: Slot, context: Context, order: Order) -> None:
    if not order.interrupt:
        slot.cancel(context.lease, order.reason, lost=order.lost)
        return
    if order.limit_s is not None:
        context.limit_s = order.limit_s
    slot.stop(context.lease, _INTERRUPTS[order.interrupt])


class ExecutorSlot(ThreadSlot):
    """A thread of the worker in which an executor of the project runs its tasks. Interrupts become orders."""

    __slots__ = ("_channel", "_executor", "_pause", "start")
    start: TaskStart

    def __init__(
        self, number: int, table: SlotTable, executor: TaskExecutor, channel: Channel, pause: ExecutorPause
    ) -> None:
        super().__init__(number, table)
        self._executor = executor
        self._channel = channel
        self._pause = pause

    def execute(self, context: Context) -> Settlement:
        """Run a task. Never raises."""
        lease = context.lease
        self.start, began = TaskStart(lease, self._channel), time.monotonic()
        if began < self._pause.failed_until:
            return settlements.unstarted(lease, settlements.NOT_STARTED)
        if not self.open(lease, context, began):
            return report.refused(lease)
        try:
            found: Any = self._executor.execute(self.start)
            if not isinstance(found, Settlement) or (found.id, found.fence) != (lease.id, lease.fence):
                raise TypeError(f"execute() returned {found!r}, and not the settlement of this start")
            settlement = found
        except ExecutorUnavailable as error:
            reason = kept(error.fields.get("reason", error))
            self._pause.failed(began, reason)
            settlement = settlements.not_begun(context, reason)
        except BaseException as error:  # SystemExit of the project's code, too: the thread must go on
            self._pause.worked(began)
            settlement = self.start.lost(error)
        else:
            self._pause.worked(began)
        finally:
            self.close()
            self.clear()
        return settlement

    def cancel(self, lease: Lease, reason: str, *, lost: bool = False) -> None:
        """Ask the task to stop."""
        super().cancel(lease, reason, lost=lost)
        if self.lease is lease:
            self.start.obey(Order(reason=reason, lost=lost))

    def _raise(self, kind: type[Interrupt]) -> None:
        limit = self.context.limit_s if self.context is not None else None
        self.start.obey(Order(interrupt=_WORDS[kind], limit_s=limit))


def executor_class(path: str, place: str = "QUEUEOPS['EXECUTOR']") -> Any:
    """The class of an executor. Raises BadSetting."""
    found = imported(place, path, "no arguments")
    missing = [name for name in _CALLS if isinstance(found, type) and not callable(getattr(found, name, None))]
    if missing:
        lacks = " and ".join(missing)
        raise refused(place, path, f"a class with the methods {' and '.join(_CALLS)}; {lacks} cannot be called")
    return found
