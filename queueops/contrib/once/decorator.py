"""`once`: runs a function in a transaction that also marks its task as done. A second start gives the first result."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar, overload

from django.db import DEFAULT_DB_ALIAS, transaction
from django.utils import timezone

from queueops import conf
from queueops.errors import BadOption
from queueops.results.types import ResultType
from queueops.tasks.context import Context, running

P = ParamSpec("P")
R = TypeVar("R")


@overload
def once(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def once(*, using: str = DEFAULT_DB_ALIAS) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def once(function: Any = None, /, *, using: str = DEFAULT_DB_ALIAS) -> Any:
    """Make a task's effects in the database `using` happen once for each task id. It stands below `@task`.

    The function runs in a transaction. Its result is the result of each later start. Outside a task it runs in a
    transaction, too, and leaves no mark. Called by another such function, it belongs to that one. Raises BadOption for
    an async function and a generator, and for a second call by one task, which has one mark.
    """
    return functools.partial(_wrapped, using=using) if function is None else _wrapped(function, using=using)


def _wrapped(function: Callable[P, R], *, using: str) -> Callable[P, R]:
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        expected = "a plain function, neither async nor a generator"
        raise BadOption(name="once", value=function.__qualname__, expected=expected)

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> Any:
        context, call = running(), functools.partial(function, *args, **kwargs)
        with transaction.atomic(using=using):
            if context is None:
                return call()
            with _only_mark(context, using, function) as is_within:
                return call() if is_within else _marked(_key(context), using, function, call)

    return run


def _key(context: Context) -> str:
    """The mark of a task; the later phases of one, such as `reduce`, have their own."""
    return f"{context.pool}/{context.id}" + (f" {context.lease.phase}" if context.lease.phase else "")


_used: ContextVar[tuple[Context, dict[str, bool]]] = ContextVar("queueops_once")
"""The start of a task that called such a function last; for each database, whether one of them runs now."""


@contextmanager
def _only_mark(context: Context, using: str, function: Callable[..., Any]) -> Iterator[bool]:
    """Whether another such function calls this one: its mark stands for both. Raises BadOption for a second mark."""
    used = _used.get(None)
    if used is None or used[0] is not context:
        used = (context, {})
        _used.set(used)
    runs = used[1]
    if runs.get(using):
        yield True
        return
    if using in runs:
        expected = "called once by a task, which has one mark: put @once below @task, with all effects in that function"
        raise BadOption(name="once", value=function.__qualname__, expected=expected)
    runs[using] = True
    try:
        yield False
    except BaseException:  # its mark is rolled back
        del runs[using]
        raise
    runs[using] = False


def _marked(key: str, using: str, function: Callable[..., Any], call: Callable[[], Any]) -> Any:
    """Run what has no mark yet. The mark is written first, so that a second start waits for the first one's end."""
    from queueops.contrib.once.models import DoneTask  # the code of tasks is imported before the models are there

    name = getattr(function, "__qualname__", "once")
    types = ResultType.of(function, name)
    marks = DoneTask.objects.using(using)
    mark, is_new = marks.get_or_create(key=key, defaults={"result": "", "done": timezone.now()})
    if not is_new:
        ring = conf.keyring_to_read()
        return types.decode(mark.result.encode() if ring is None else ring.open(mark.result.encode()))
    result, ring = call(), conf.keyring()
    text = types.encode(name, result).decode()
    marks.filter(pk=key).update(result=text if ring is None else ring.seal(text))
    return result


def forget(older_than: timedelta, *, using: str = DEFAULT_DB_ALIAS) -> int:
    """Delete marks of that age; how many. A task that starts again later than that repeats its effects."""
    from queueops.contrib.once.models import DoneTask

    deleted: int = DoneTask.objects.using(using).filter(done__lt=timezone.now() - older_than).delete()[0]
    return deleted
