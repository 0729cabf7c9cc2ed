"""Value of a call: of a coroutine or a generator, what it gives. Activities of the test environment are run so."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

from queueops.eager.execution import SilentChannel
from queueops.model.contracts import Lease, Push
from queueops.model.ports import Handler
from queueops.tasks import context


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


def awaited(value: Any) -> Any:
    """The value of a coroutine or a generator."""
    if inspect.isgenerator(value):
        return list(value)
    if not inspect.iscoroutine(value):
        return value
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.extend((True, asyncio.run(value)))
        except BaseException as error:  # whatever the code of an activity raises
            outcome.extend((False, error))

    thread = threading.Thread(target=copy_context().run, args=(run,))
    thread.start()
    thread.join()
    if outcome[0]:
        return outcome[1]
    raise outcome[1]
