"""Value of a call: of a coroutine or a generator, what it gives. Activities of the test environment are run so.

Code that uses Django's ORM gets the connection of the test, in synchronous and in async tests.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Event
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async

from queueops.eager.execution import SilentChannel
from queueops.errors.workflows import EventLoopBlocked
from queueops.model.contracts import Lease, Push
from queueops.model.ports import Handler
from queueops.tasks import context

BEGINS_WITHIN_S = 30.0
"""So long an async test waits for another call in the thread of `sync_to_async`, with its event loop blocked."""
_Outcome = tuple[bool, Any]
"""Whether a call has raised; then the error, else the value."""


@contextmanager
def as_task(push: Push, handler: Handler, attempt: int) -> Iterator[None]:
    """Around an attempt of an activity: `current()` is its context. Its progress and its log lines are not kept."""
    lease = Lease(
        id=push.id, fence=0, name=push.name, pool=push.pool, lane=push.lane, args=push.args, attempt=attempt,
        retries=push.retries, retry=push.retry, timeout_ms=push.timeout_ms, tags=tuple(push.tags), root=push.root,
        meta=push.meta,
    )  # fmt: skip
    token = context.enter(context.Context(lease, handler, SilentChannel()))
    try:
        yield
    finally:
        context.leave(token)


def value_of(call: Callable[[], Any]) -> Any:
    """The value of a call. Raises what the call raises, and EventLoopBlocked.

    Synchronous code runs in this thread. If this thread runs an event loop, as in an async test, Django's ORM is
    refused here. The code runs then in the thread in which `sync_to_async` would run it, while this thread waits.
    """
    if asyncio._get_running_loop() is not None:
        is_raised, value = _beside_loop(call)
    else:
        is_raised, value = _outcome(call)
        if not is_raised and inspect.iscoroutine(value):
            is_raised, value = async_to_sync(_awaited)(value)
    if is_raised:
        raise value
    return value


def _outcome(call: Callable[[], Any]) -> _Outcome:
    try:
        value = call()
        return False, list(value) if inspect.isgenerator(value) else value
    except BaseException as error:  # whatever the code of an activity raises
        return True, error


async def _awaited(value: Coroutine[Any, Any, Any]) -> _Outcome:
    try:
        return False, await value
    except BaseException as error:  # as above
        return True, error


def _beside_loop(call: Callable[[], Any]) -> _Outcome:
    """The outcome of a call, while the loop of this thread is blocked. Code that needs a loop gets another one.

    Raises EventLoopBlocked if another call keeps the thread: that may wait for the loop, and would never end.
    """
    found: Future[_Outcome] = Future()
    has_begun = Event()

    def run() -> None:
        if not found.set_running_or_notify_cancel():
            return  # its caller has given up
        has_begun.set()
        try:
            found.set_result(async_to_sync(_called, force_new_loop=True)(call))
        except BaseException as error:  # whatever asgiref raises: this thread waits for an outcome
            found.set_exception(error)

    begun = sync_to_async(run)()
    begun.send(None)  # asgiref has chosen the thread, and given it the call; the loop could not tell its end
    try:
        if not has_begun.wait(BEGINS_WITHIN_S) and found.cancel():
            raise EventLoopBlocked(seconds=BEGINS_WITHIN_S)
        return found.result()
    finally:
        begun.close()


async def _called(call: Callable[[], Any]) -> _Outcome:
    is_raised, value = await sync_to_async(_outcome)(call)
    return await _awaited(value) if not is_raised and inspect.iscoroutine(value) else (is_raised, value)
