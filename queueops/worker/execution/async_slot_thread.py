"""The thread beside a slot of the event loop: what its async tasks run through `sync_to_async`, as Django's ORM does.

Without one of its own, all async tasks of the process would share a single thread, and wait for each other there.
Django gives one to each request; here a slot keeps it, and database connections with it, as sync threads do.
"""

from __future__ import annotations

import asyncio

from asgiref.sync import SyncToAsync, ThreadSensitiveContext

from queueops.worker.execution import db_connections

_threads = SyncToAsync.context_to_thread_executor


class AsyncSlotThread:
    """Made with the slot; its thread begins with the first that is run there."""

    def __init__(self) -> None:
        self._context = ThreadSensitiveContext()

    def enter(self) -> None:
        """Called by the coroutine that runs a task: what this one and those that it begins run goes there."""
        SyncToAsync.thread_sensitive_context.set(self._context)

    def is_used(self) -> bool:
        """Whether anything was run there, so that there may be connections."""
        return self._context in _threads

    async def clean(self, patience: float) -> bool:
        """Clean its connections; False when what is still run there has not ended after so many seconds."""
        try:
            await asyncio.wait_for(asyncio.wrap_future(_threads[self._context].submit(db_connections.clean)), patience)
        except TimeoutError:
            return False
        return True

    def leave_behind(self) -> None:
        """Called by the coroutine: what it was waiting for goes on there, and what it runs from now on elsewhere."""
        if self.is_used():
            self.abandon()
            self.enter()

    def abandon(self, *, wait: bool = False) -> None:
        """Leave the thread to what a task has begun there, and was not waited for; behind that it ends."""
        executor = _threads.pop(self._context, None)
        self._context = ThreadSensitiveContext()
        if executor is not None:
            executor.submit(db_connections.close_all)
            executor.shutdown(wait=wait)
