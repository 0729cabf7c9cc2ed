"""Sync thread of an async slot: runs what an async task calls through `sync_to_async`, such as Django's ORM.

Without it, all async tasks of the process would share one thread, and wait for each other there. Django gives each
request such a thread. Here each slot keeps one, with its database connections, as threads for sync tasks do.
"""

from __future__ import annotations

import asyncio

from asgiref.sync import SyncToAsync, ThreadSensitiveContext

from queueops.model.contracts import Lease
from queueops.worker.execution import db_connections

_threads = SyncToAsync.context_to_thread_executor


class AsyncSlotThread:
    """The thread of one slot. It is started with the first call."""

    def __init__(self) -> None:
        self._context = ThreadSensitiveContext()

    def enter(self) -> None:
        """Called by the coroutine of a task: `sync_to_async` calls of it and its child coroutines run there."""
        SyncToAsync.thread_sensitive_context.set(self._context)

    def is_used(self) -> bool:
        """Whether anything was run there, so that connections may exist."""
        return self._context in _threads

    async def clean(self, patience: float, lease: Lease) -> bool:
        """Clean the thread's connections after a task; False if a call still runs there after this many seconds."""
        cleaned = _threads[self._context].submit(db_connections.clean, lease)
        try:
            await asyncio.wait_for(asyncio.wrap_future(cleaned), patience)
        except TimeoutError:
            return False
        return True

    def leave_behind(self) -> None:
        """Called by the coroutine: pending calls continue in the old thread, later calls run in a new one."""
        if self.is_used():
            self.abandon()
            self.enter()

    def abandon(self, *, wait: bool = False) -> None:
        """Leave the thread to the unfinished calls of a task; it ends after them."""
        executor = _threads.pop(self._context, None)
        self._context = ThreadSensitiveContext()
        if executor is not None:
            executor.submit(db_connections.close_all)
            executor.shutdown(wait=wait)
