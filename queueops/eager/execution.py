"""Execution of one lease in a test's thread: as in a worker, but without timeouts."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any

from asgiref.sync import async_to_sync

from queueops.eager.running import RunningTasks
from queueops.eager.savepoints import savepoints
from queueops.model.contracts import Lease, Outcome, Settlement
from queueops.tasks import registry
from queueops.tasks.context import Channel, Context
from queueops.worker.execution import settlements
from queueops.worker.execution.execution import aexecute, execute
from queueops.worker.execution.slot import AsyncSlot, ThreadSlot
from queueops.worker.shared_slot_table import SlotTable

GRACE_S = 5.0
"""Time for which an interrupted test waits for the end of its async task."""


def _ends_the_test() -> tuple[type[BaseException], ...]:
    """KeyboardInterrupt, and what pytest raises for a timeout, `pytest.fail()`, `pytest.skip()` and `pytest.exit()`.

    An exception that ends the test itself is not an outcome of the task.
    """
    pytest: Any = sys.modules.get("pytest")
    own = (pytest.fail.Exception, pytest.skip.Exception, pytest.exit.Exception) if pytest else ()
    return (KeyboardInterrupt, *own)


class InlineThreadSlot(ThreadSlot):
    """A slot in the thread of the test."""

    __slots__ = ()
    passes = _ends_the_test()
    cleans = False


class InlineAsyncSlot(AsyncSlot):
    """A slot on an event loop of the test."""

    __slots__ = ()
    passes = _ends_the_test()


class SilentChannel:
    """Channel that stores nothing: the progress and the log lines of a chunk are not those of its task."""

    def progress(self, lease: Lease, done: float, total: float | None) -> None:
        """Progress is not stored."""

    def log(self, lease: Lease, text: str) -> None:
        """Log lines are not stored."""

    def extend(self, lease: Lease, seconds: float) -> None:
        """Timeouts are not enforced."""

    set_deadline = extend


def run(lease: Lease, channel: Channel, running: RunningTasks | None = None) -> Settlement:
    """Run the task of a lease, and return its outcome. During the run it is registered in `running`."""
    handler = registry.find(lease.kind, lease.name, lease.phase)
    if handler is None:
        return settlements.unknown(lease)
    context = Context(lease, handler, channel)
    table, running = SlotTable(1), running or RunningTasks()
    with savepoints() as attempt:
        try:
            settlement = (_in_loop if handler.is_async else _in_thread)(context, table, running)
        finally:
            table.close()
        attempt.failed = settlement.outcome is not Outcome.SUCCESS
    return settlement


def _in_thread(context: Context, table: SlotTable, running: RunningTasks) -> Settlement:
    slot = InlineThreadSlot(0, table)
    slot.thread_id = threading.get_ident()
    with running.entered(context.pool, context.id, slot):
        return execute(slot, context)


async def _arun(context: Context, table: SlotTable, running: RunningTasks) -> Settlement:
    slot = InlineAsyncSlot(0, table, asyncio.get_running_loop())
    slot.task = asyncio.current_task()
    with running.entered(context.pool, context.id, slot):
        return await aexecute(slot, context)


def _in_loop(context: Context, table: SlotTable, running: RunningTasks) -> Settlement:
    """Run an async task in its own loop. Its sync parts, such as queries, run in this thread and its transaction.

    If this thread has a running loop already, the whole task runs in a thread of its own.
    """
    end = threading.Event()

    async def call() -> Settlement:
        try:
            return await _arun(context, table, running)
        finally:
            end.set()

    try:
        return _called(call)
    except InlineAsyncSlot.passes:
        # Ctrl-C ended this thread's wait: the task in the other thread must end too, or the process hangs
        running.cancel(context.pool, context.id, "the test was interrupted", hard=True)
        end.wait(GRACE_S)
        raise


def _called(call: Callable[[], Coroutine[Any, Any, Settlement]]) -> Settlement:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return copy_context().run(async_to_sync(call))  # the task's context variables must stay its own
    ended: Future[Settlement] = Future()

    def run_there() -> None:
        try:
            ended.set_result(asyncio.run(call()))
        except BaseException as error:  # raised in the thread that waits
            ended.set_exception(error)

    threading.Thread(target=run_there, name="queueops-testing").start()
    return ended.result()
