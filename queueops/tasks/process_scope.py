"""Process scope: opens a `Depends(..., scope="process")` once in a worker process, and closes it at the end.

The worker opens the scope before its first task and closes it after its last one. Other code has no process scope. In
an ordinary call, in `eager()` and in `run_worker()`, such a dependency is opened and closed in the task's scope.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from contextvars import Context
from typing import Any, Protocol

CLOSE_WITHIN = 2.0
"""Seconds that closing may take, for the sync dependencies and for the async ones."""

_LATE = "Dependencies of the process's scope were not closed within %g s"

logger = logging.getLogger("queueops.worker")


class Opens(Protocol):
    """A dependency, as the scope uses it. Both methods also open its own dependencies."""

    func: Any

    def open(self, stack: ExitStack) -> Any:
        """Open it and return its value; the stack closes it."""

    async def aopen(self, stack: AsyncExitStack) -> Any:
        """The same on the event loop."""


class ProcessScope:
    """The values of one worker process. Thread-safe."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self._values: dict[int, tuple[Opens, Any]] = {}  # by the identity of a function, which is kept alive
        self._locks: dict[int, threading.Lock] = {}
        self._stacks: list[ExitStack] = []
        self._holders: dict[int, _Holder] = {}

    def value(self, depends: Opens) -> Any:
        """The value of a sync dependency. The first call opens it, while others wait.

        If opening fails, the next call tries again.
        """
        key = id(depends.func)
        found = self._values.get(key)
        if found is None:
            with self._locks.setdefault(key, threading.Lock()):
                found = self._values.get(key)
                if found is None:
                    found = self._values[key] = depends, Context().run(self._open, depends)
        return found[1]

    async def avalue(self, depends: Opens, *, is_async: bool) -> Any:
        """The same on the worker's event loop, which a sync dependency does not block."""
        if is_async:
            return await self._held(depends)
        found = self._values.get(id(depends.func))
        return found[1] if found is not None else await asyncio.to_thread(self.value, depends)

    def holding(self) -> set[asyncio.Task[None]]:
        """The tasks of the event loop that hold async dependencies open."""
        return {holder.task for holder in self._holders.values()}

    async def aclose(self) -> None:
        """Close the async dependencies, the last one first."""
        deadline = asyncio.get_running_loop().time() + CLOSE_WITHIN
        for holder in reversed(self._holders.values()):
            holder.closing.set()
            left = deadline - asyncio.get_running_loop().time()
            if not (await asyncio.wait((holder.task,), timeout=max(0.0, left)))[0]:
                logger.error(_LATE, CLOSE_WITHIN)
                holder.task.cancel()
        self._holders.clear()

    def close(self) -> None:
        """Close the sync dependencies, the last one first. An error is logged, and the others are still closed."""
        self._values.clear()
        while self._stacks:
            with _logged():
                self._stacks.pop().close()

    def _open(self, depends: Opens) -> Any:
        with ExitStack() as stack:
            value = depends.open(stack)
            self._stacks.append(stack.pop_all())
        return value

    async def _held(self, depends: Opens) -> Any:
        key = id(depends.func)
        holder = self._holders.get(key)
        if holder is None:
            holder = self._holders[key] = _Holder(depends)
        try:
            return await asyncio.shield(holder.opened)
        except BaseException:
            if holder.opened.done() and self._holders.get(key) is holder:  # opening failed, not only this wait
                del self._holders[key]
            raise
        finally:
            del holder  # its future keeps an error, whose traceback keeps this frame


class _Holder:
    """An async dependency, opened and closed by one task of the event loop, as cancel scopes require."""

    def __init__(self, depends: Opens) -> None:
        self.depends = depends
        self.closing = asyncio.Event()
        self.opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        # reads the exception: if no task waits for the future, asyncio would log it
        self.opened.add_done_callback(lambda opened: opened.cancelled() or opened.exception())
        self.task = asyncio.get_running_loop().create_task(self._hold(), context=Context())

    async def _hold(self) -> None:
        with _logged():
            async with AsyncExitStack() as stack:
                try:
                    value = await self.depends.aopen(stack)
                except BaseException as error:
                    self.opened.set_exception(_carried(error))
                    del self  # the future keeps the error, whose traceback keeps this frame
                    return
                self.opened.set_result(value)
                await self.closing.wait()


def _carried(error: BaseException) -> BaseException:
    """Wrap a StopIteration, which a future does not accept."""
    return RuntimeError(f"{type(error).__name__}: {error}") if isinstance(error, StopIteration) else error


@contextmanager
def _logged() -> Iterator[None]:
    try:
        yield
    except Exception:  # the application's code; the process ends
        logger.exception("A dependency of the process's scope could not be closed")


_active: ProcessScope | None = None


@contextmanager
def opened() -> Iterator[ProcessScope]:
    """Open the scope of this process for the block; at its end, close the sync dependencies within a time limit."""
    global _active
    scope = _active = ProcessScope()
    try:
        yield scope
    finally:
        _active = None
        _close_in_time(scope)


def active(loop: asyncio.AbstractEventLoop | None = None) -> ProcessScope | None:
    """The scope of this process, if there is one. For code on an event loop, only on the worker's."""
    scope = _active
    return scope if scope is None or loop is None or scope.loop is loop else None


def _close_in_time(scope: ProcessScope) -> None:
    closing = threading.Thread(target=scope.close, name="queueops-closing", daemon=True)
    closing.start()
    closing.join(CLOSE_WITHIN)
    if closing.is_alive():
        logger.error(_LATE, CLOSE_WITHIN)
