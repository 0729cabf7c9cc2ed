"""Async executor: runs async tasks on one event loop in its own thread, started with the first task."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any

from queueops.model.contracts import Lease, Settlement
from queueops.tasks import process_scope
from queueops.tasks.context import Context
from queueops.worker.execution.execution import aexecute
from queueops.worker.execution.loop_threads import LoopThreads
from queueops.worker.execution.slot import AsyncSlot
from queueops.worker.shared_slot_table import SlotTable

logger = logging.getLogger("queueops.worker")

LEFT_BEHIND = 1.0
"""Seconds that a slot waits for a call that its task left in a thread, as `wait_for(sync_to_async(f)(), 5)` may."""

Ended = Callable[[Lease, Settlement, float], None]
Refused = Callable[[Context], Settlement | None]


class AsyncExecutor:
    """Runs at most ``limit`` coroutines at a time; their slots are the second half of the table."""

    def __init__(
        self,
        limit: int,
        table: SlotTable,
        ended: Ended,
        refused: Refused = lambda _: None,
        broke: Callable[[BaseException], None] = lambda _: None,
    ) -> None:
        """``broke`` is called with an error that is not the task's: its slot is not used again."""
        self.slots: list[AsyncSlot] = []
        self._limit = limit
        self._table = table
        self._ended = ended
        self._refused = refused
        self._broke = broke
        self.waiting: deque[Context] = deque()
        self._free: list[AsyncSlot] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        self._surroundings = copy_context()

    def submit(self, contexts: list[Context]) -> None:
        """Run these tasks as soon as slots are free."""
        loop = self._loop or self._start()
        self.waiting.extend(contexts)
        loop.call_soon_threadsafe(self._pump)

    def take_back(self) -> list[Lease]:
        """Remove and return the waiting tasks."""
        taken = []
        while self.waiting:
            try:
                taken.append(self.waiting.popleft().lease)
            except IndexError:  # the event loop took the last one between the two lines
                break
        return taken

    def close(self, seconds: float) -> bool:
        """End the event loop; False if a task still runs in it."""
        if self._loop is None or self._thread is None or self._loop.is_closed():
            return True
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        scope = process_scope.active(self._loop)
        self._thread.join(seconds + (process_scope.CLOSE_WITHIN if scope and scope.holding() else 0.0))
        return not self._thread.is_alive()

    def _start(self) -> asyncio.AbstractEventLoop:
        loop = self._loop = asyncio.new_event_loop()
        loop.set_default_executor(LoopThreads(thread_name_prefix="queueops-beside"))
        self.slots = [AsyncSlot(self._limit + number, self._table, loop) for number in range(self._limit)]
        self._free = self.slots[::-1]
        if (scope := process_scope.active()) is not None:
            scope.loop = loop
        self._thread = threading.Thread(target=self._run, args=(loop,), name="queueops-loop", daemon=True)
        self._thread.start()
        return loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            while not self._closed:
                try:
                    loop.run_forever()
                except (SystemExit, KeyboardInterrupt):  # asyncio passes them on, which would end all other tasks too
                    logger.exception("A background coroutine of a task would have ended the event loop")
        finally:
            if (scope := process_scope.active(loop)) is not None:
                _cancel(loop, asyncio.all_tasks(loop) - scope.holding())
                loop.run_until_complete(scope.aclose())
            _cancel(loop, asyncio.all_tasks(loop))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
            for slot in self.slots:
                slot.own_thread.abandon(wait=True)
            loop.close()

    def _pump(self) -> None:
        while self._free and self.waiting:
            slot, context = self._free.pop(), self.waiting.popleft()
            self._begin(slot, self._run_one(slot, context))

    def _begin(self, slot: AsyncSlot, coroutine: Coroutine[Any, Any, None]) -> None:
        """Start a slot's coroutine in a new context: a task's settings, such as the language, end with it."""
        slot.task = slot.loop.create_task(coroutine, context=self._surroundings.copy())
        slot.task.add_done_callback(self._look)

    def _look(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._broke(error)

    async def _run_one(self, slot: AsyncSlot, context: Context) -> None:
        started = time.monotonic()
        slot.own_thread.enter()
        settlement = self._refused(context) or await aexecute(slot, context)
        self._ended(context.lease, settlement, (time.monotonic() - started) * 1000)
        if slot.own_thread.is_used():
            self._begin(slot, self._tidy(slot, context.lease))  # not here: a task that cancelled itself could not wait
        else:
            self._set_free(slot)

    async def _tidy(self, slot: AsyncSlot, lease: Lease) -> None:
        if not await slot.own_thread.clean(LEFT_BEHIND, lease):
            slot.own_thread.abandon()
        self._set_free(slot)

    def _set_free(self, slot: AsyncSlot) -> None:
        self._free.append(slot)
        self._pump()


def _cancel(loop: asyncio.AbstractEventLoop, tasks: set[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
