"""The thread beside a slot of the event loop: what its async tasks run through `sync_to_async`, as Django's ORM does.

Without one of its own, all async tasks of the process would share a single thread, and wait for each other there.
Django gives one to each request; here a slot keeps it, and database connections with it, as sync threads do.
"""

from __future__ import annotations

from collections.abc import Callable

from asgiref.sync import SyncToAsync, ThreadSensitiveContext

from queueops.worker import hygiene

_threads = SyncToAsync.context_to_thread_executor


class Annexe:
    """Made with the slot; its thread begins with the first that is run there."""

    def __init__(self) -> None:
        self._context = ThreadSensitiveContext()

    def enter(self) -> None:
        """Called by the coroutine that runs a task: what this one and those that it begins run goes there."""
        SyncToAsync.thread_sensitive_context.set(self._context)

    def clean(self, then: Callable[[], object]) -> None:
        """Clean its connections, behind what is still run there; ``then`` is called by it, or now if there is none."""
        executor = _threads.get(self._context)
        if executor is None:
            then()
        else:
            executor.submit(hygiene.clean).add_done_callback(lambda _: then())

    def abandon(self, *, wait: bool = False) -> None:
        """Leave the thread to what an interrupted task has begun there; behind that it ends."""
        executor = _threads.pop(self._context, None)
        self._context = ThreadSensitiveContext()
        if executor is not None:
            executor.submit(hygiene.close_all)
            executor.shutdown(wait=wait)
