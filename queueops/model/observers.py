"""Observers: what follows tasks from their push to their end, such as Sentry and OpenTelemetry.

An app of `queueops.contrib` registers one, when Django is set up. Without any, a push and a task do nothing here. The
errors of an observer are logged. They fail no push and no task.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from types import TracebackType
from typing import Any, Protocol

from queueops.model.contracts import Push, Settlement
from queueops.model.trace_context import LINKED, read, written

CLOSE_WITHIN = 2.0
"""Seconds that each observer has at the end of a process, to send what it still holds."""

logger = logging.getLogger("queueops.observers")


class Observer(Protocol):
    """What an observer is told. A task's own error passes through `running`."""

    def publishing(self, pushes: Sequence[Push], headers: dict[str, str]) -> AbstractContextManager[None]:
        """Tasks of one pool are pushed in the block. It adds the headers that their records are to carry."""

    def running(self, context: Any) -> AbstractContextManager[None]:
        """The code of the task of this context runs in the block, with the middlewares of the project."""

    def failed(self, error: BaseException) -> None:
        """The code of a workflow has failed, and its run with it. Told within `running`: its last step succeeds."""

    def killed(self, pool: str, ends: Mapping[str, Settlement]) -> None:
        """A worker process died or was killed. Told in a process of its own, when its tasks, by id, are given back."""

    def close(self, seconds: float) -> None:
        """The process ends: send what is left within this time."""


registered: list[Observer] = []
_supervisor = 0


def supervise() -> None:
    """Note that this process is a supervisor, which must have no threads when it forks."""
    global _supervisor
    _supervisor = os.getpid()


def is_supervisor() -> bool:
    """Whether this process is a supervisor. Its forks are none."""
    return os.getpid() == _supervisor


def publishing(pushes: Iterable[Push], *, linked: bool = False) -> AbstractContextManager[Any]:
    """The block in which these tasks of one pool are pushed. A task that has a trace context keeps it.

    This is the only place on the producer's side. `linked`: they are independent of each other.
    """
    fresh = [push for push in pushes if not push.trace] if registered else []
    if not fresh:
        return nullcontext()
    headers = {LINKED: "1"} if linked else {}
    with ExitStack() as stack:
        for observer in registered:
            stack.enter_context(Guarded(partial(observer.publishing, fresh, headers)))
        trace = written(headers)
        for push in fresh:
            push.trace = trace
        return stack.pop_all()


def headers_of(lease: Any) -> dict[str, str]:
    """The headers that the push of a task has left in its record."""
    return read(lease.trace)


def tell_failed(error: BaseException) -> None:
    """Tell the observers of the error of a run."""
    for observer in registered:
        _safely(partial(observer.failed, error))


def tell_killed(pool: str, ends: Mapping[str, Settlement]) -> None:
    """Tell the observers which tasks a dead process ran."""
    for observer in registered if ends else ():
        _safely(partial(observer.killed, pool, ends))


def close() -> None:
    """Let the observers send what they hold, because this process ends."""
    for observer in registered:
        _safely(partial(observer.close, CLOSE_WITHIN))


class Guarded:
    """A block of an observer, whose own errors are logged and go no further."""

    def __init__(self, make: Callable[[], AbstractContextManager[None]]) -> None:
        self._make = make
        self._block: AbstractContextManager[None] | None = None

    def __enter__(self) -> None:
        try:
            block = self._make()
            block.__enter__()
        except Exception:
            logger.exception("An observer failed at the beginning of its block")
        else:
            self._block = block

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._block is not None:
                self._block.__exit__(kind, error, trace)
        except Exception as own:
            if own is not error:
                logger.exception("An observer failed at the end of its block")


def _safely(call: Callable[[], None]) -> None:
    try:
        call()
    except Exception:
        logger.exception("An observer failed")
