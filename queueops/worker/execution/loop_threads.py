"""Threads beside the event loop: those of `asyncio.to_thread`, and of `sync_to_async` with `thread_sensitive=False`.

They are not a slot's own, so a call of any task may run there after a call of another one.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from queueops.model.contracts import Lease
from queueops.tasks.context import running
from queueops.worker.execution import db_connections


class LoopThreads(ThreadPoolExecutor):
    """The default executor of the event loop. It closes the database connections of a thread after each call."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a call in a thread."""
        context = running()
        return super().submit(_call, context.lease if context else None, function, args, kwargs)


def _call(lease: Lease | None, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return function(*args, **kwargs)
    finally:
        db_connections.clean(lease)
        db_connections.close_all()
