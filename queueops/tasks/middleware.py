"""Middleware around each execution: `QUEUEOPS["MIDDLEWARE"]`, outermost first, as in Django.

    class Timing:
        def __init__(self, get_result): self.get_result = get_result
        def __call__(self, run): ...; return self.get_result(run)

A task's own middlewares, `@task(middleware=[...])`, are inside these. `run` is the task's context. A middleware may
replace the result, raise, or call `get_result` at most once. One with an `async def __call__` serves async tasks
directly; `sync_capable` and `async_capable` have Django's meaning. If a middleware's kind (sync or async) differs from
the task's, it is adapted, which costs a thread switch.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from functools import cache, partial
from inspect import iscoroutinefunction
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async
from django.core.exceptions import MiddlewareNotUsed
from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from queueops import conf
from queueops.errors import NotEncodable
from queueops.model import observers
from queueops.tasks.context import Context, enter, leave
from queueops.tasks.encoding import with_article

GetResult = Callable[[Context], Any]
LAST_WORDS_S = 5.0
"""Seconds for the last output of a process that a task has forked."""
_forks = 0
"""How many forks separate this process from its first parent. Cheaper than reading the process id around each task."""


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


def run(context: Context) -> Any:
    """Run the task of `context` in this thread, through the middlewares; return its result."""
    token, forks = enter(context), _forks
    try:
        value, encoder = _chain(False)(context), getattr(context.handler, "encoder", None)
        return value if encoder is None else _encoded(context, encoder, value)
    finally:
        leave(token)
        if _forks != forks:
            _end_fork()


async def arun(context: Context) -> Any:
    """The same for an async handler."""
    token, forks = enter(context), _forks
    try:
        value, encoder = await _chain(True)(context), getattr(context.handler, "encoder", None)
        return value if encoder is None else _encoded(context, encoder, value)
    finally:
        leave(token)
        if _forks != forks:
            _end_fork()


def _end_fork() -> None:
    """End a process that the task has forked, at the end of the task's code, as a program would end.

    The code around the task belongs to the parent. The fork would run the parent's tasks, on the parent's connections.
    A thread of the parent may have held the lock of a stream at the fork, and nothing releases it here. So the output
    is written in a thread that may hang.
    """
    error = sys.exception()
    status = error.code if isinstance(error, SystemExit) else int(error is not None)
    told = None if isinstance(error, SystemExit) else error
    is_written = threading.Event()
    writing = threading.Thread(target=_write_out, args=(told, is_written), daemon=True)
    writing.start()
    writing.join(LAST_WORDS_S)
    if told is not None and not is_written.is_set():
        os.write(2, "".join(traceback.format_exception(told)).encode("utf-8", "backslashreplace"))
    os._exit(status if isinstance(status, int) else int(status is not None))


def _write_out(error: BaseException | None, is_written: threading.Event) -> None:
    if error is not None:
        traceback.print_exception(error)
    sys.stderr.flush()
    is_written.set()
    sys.stdout.flush()


def _handle(context: Context) -> Any:
    handler: Any = context.handler
    if getattr(handler, "middleware", ()):
        return _own_chain(handler, False)(context)
    return handler.run(context)


async def _ahandle(context: Context) -> Any:
    handler: Any = context.handler
    if getattr(handler, "middleware", ()):
        return await _own_chain(handler, True)(context)
    return await handler.run(context)


def _run(context: Context) -> Any:
    return context.handler.run(context)


async def _arun(context: Context) -> Any:
    return await context.handler.run(context)


def _encoded(context: Context, encoder: Callable[[Any], Any], value: Any) -> Any:
    """Encode the result with the task's own encoder. Raises NotEncodable."""
    try:
        return encoder(value)
    except Exception as error:  # the application's code; another attempt would encode the same result
        name, kind = context.handler.name, with_article(type(value).__qualname__)
        advice = f"Its encoder raised {type(error).__name__}: {error}."
        raise NotEncodable(what="result", name=name, path="it", type=kind, advice=advice) from error


@cache
def _chain(is_async: bool) -> GetResult:
    """The chain for the sync or the async tasks of this process, built once."""
    outer = [_observing(observer) for observer in observers.registered]
    return _built((*outer, *conf.current().middleware), _ahandle if is_async else _handle, is_async)


@cache
def _own_chain(handler: Any, is_async: bool) -> GetResult:
    """The chain of a task's own middlewares, built once."""
    return _built(handler.middleware, _arun if is_async else _run, is_async)


def _observing(observer: observers.Observer) -> Any:
    """The middleware of an observer, for sync and async tasks."""

    def factory(get_result: GetResult) -> GetResult:
        def run(context: Context) -> Any:
            with observers.Guarded(partial(observer.running, context)):
                return get_result(context)

        async def arun(context: Context) -> Any:
            with observers.Guarded(partial(observer.running, context)):
                return await get_result(context)

        return arun if iscoroutinefunction(get_result) else run

    made: Any = factory
    made.sync_capable = made.async_capable = True
    return made


def _built(middlewares: Sequence[Any], get_result: GetResult, is_async: bool) -> GetResult:
    for each in reversed(middlewares):
        get_result = _wrapped(import_string(each) if isinstance(each, str) else each, get_result, is_async)
    return get_result


def _wrapped(factory: Any, get_result: GetResult, is_async: bool) -> GetResult:
    wants_async = _wants_async(factory, is_async)
    try:
        made = factory(_adapted(get_result, is_async, wants_async, own_thread=True))
    except MiddlewareNotUsed:
        return get_result
    if wants_async and not iscoroutinefunction(made):
        made = _awaiting(made)
    return _adapted(made, wants_async, is_async, own_thread=False)


def _wants_async(factory: Any, is_async: bool) -> bool:
    """Whether a middleware takes an async `get_result`, given the task's kind."""
    own = isinstance(factory, type) and iscoroutinefunction(vars(factory).get("__call__"))
    takes_sync = getattr(factory, "sync_capable", not own)
    takes_async = getattr(factory, "async_capable", own)
    return bool(takes_async and (is_async or not takes_sync))


def _adapted(function: GetResult, is_async: bool, wanted: bool, own_thread: bool) -> GetResult:
    """Return a sync task inside an async middleware to its own thread, where its database connections are."""
    if is_async == wanted:
        return function
    if wanted:
        return sync_to_async(function, thread_sensitive=own_thread)
    return async_to_sync(function)


def _awaiting(made: GetResult) -> GetResult:
    async def call(context: Context) -> Any:
        return await made(context)

    return call


def _forget(*, setting: str, **_: Any) -> None:
    if setting == "QUEUEOPS":
        _chain.cache_clear()


setting_changed.connect(_forget, dispatch_uid="queueops.tasks.middleware")
