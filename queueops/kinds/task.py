"""`@task`: makes a function a task."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator
from datetime import timedelta
from inspect import CO_VARARGS, CO_VARKEYWORDS, unwrap
from types import CellType, CodeType, FunctionType
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from queueops import registry
from queueops.errors import BadOption
from queueops.ids import check_id
from queueops.kinds.function import handler_for
from queueops.kinds.options import READERS, UNSET, OnConflict, Options, unknown_option
from queueops.kinds.pushable import Task
from queueops.kinds.unique import Unique, UniqueId
from queueops.retry import DEFAULT, Retry
from queueops.schedule import Schedule

__all__ = ["Task", "task"]

OF_ONE_PUSH = ("id", "delay")
OPTIONS = (READERS.keys() | {"name", "unique", "cron", "retry_on"}) - set(OF_ONE_PUSH)
P = ParamSpec("P")
R = TypeVar("R")
Y = TypeVar("Y")


class Decorator(Protocol):
    """What makes a task of a function; the result of a handle depends on the sort of function."""

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Task[P, Coroutine[Any, Any, R], R]: ...
    @overload  # a Generator is an Iterator, too: it comes first, and of the first that fits is the result
    def __call__(  # type: ignore[overload-overlap]
        self, function: Callable[P, Generator[Y, Any, R]], /
    ) -> Task[P, Generator[Y, Any, R], list[Y] | R]: ...
    @overload
    def __call__(self, function: Callable[P, AsyncIterator[Y]], /) -> Task[P, AsyncIterator[Y], list[Y]]: ...
    @overload
    def __call__(self, function: Callable[P, Iterator[Y]], /) -> Task[P, Iterator[Y], list[Y]]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R, R]: ...


@overload
def task(function: Callable[P, Coroutine[Any, Any, R]], /) -> Task[P, Coroutine[Any, Any, R], R]: ...
@overload
def task(  # type: ignore[overload-overlap]
    function: Callable[P, Generator[Y, Any, R]], /
) -> Task[P, Generator[Y, Any, R], list[Y] | R]: ...
@overload
def task(function: Callable[P, AsyncIterator[Y]], /) -> Task[P, AsyncIterator[Y], list[Y]]: ...
@overload
def task(function: Callable[P, Iterator[Y]], /) -> Task[P, Iterator[Y], list[Y]]: ...
@overload
def task(function: Callable[P, R], /) -> Task[P, R, R]: ...
@overload
def task(
    *,
    name: str | None = None,
    pool: str = "default",
    lane: str | None = None,
    priority: int = 0,
    retries: int | None = None,
    retry: Retry = DEFAULT,
    timeout: float | timedelta | None = UNSET,
    unique: Unique | None = None,
    cron: str | Schedule | None = None,
    retry_on: type[BaseException] | Iterable[type[BaseException]] = (Exception,),
    tags: Iterable[str] = (),
    keep: float | timedelta | None = None,
    on_conflict: OnConflict = "ignore",
    durable: bool = False,
) -> Decorator: ...
def task(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a function a task. All options may be left out:

    name: by default the function's module and name. pool, lane, priority (-100..100, higher first), tags. retries: how
    many more attempts after the first one failed (the pool's setting, or 2). retry: a `Retry`, the delays between them.
    retry_on: the exceptions that are worth another attempt. timeout: seconds for one attempt. unique: a function of the
    arguments, or a template such as "mail:{user_id}", that gives the id (None: one of its own); what a second push of
    the same id does says on_conflict. keep: seconds that the ended task is kept. durable: wait until the store has it
    on disk. cron: when it runs by itself, a line such as "0 3 * * *" or a `Schedule`; a watchdog sees to that.
    """
    if function is not None:
        return _made_task(function, options)
    return functools.partial(_made_task, options=options)


def _made_task(function: Callable[..., Any], options: dict[str, Any]) -> Task[..., Any, Any]:
    if not hasattr(function, "__code__"):
        raise BadOption(name="function", value=function, expected="a function; put @task above the other decorators")
    if next(iter(function.__code__.co_varnames[: function.__code__.co_argcount]), "") == "self":
        expected = "a function without self: no instance comes with a push; what is known of the run says current()"
        raise BadOption(name="function", value=function, expected=expected)
    own = _known(options)
    if (given := own.pop("name", None)) is None and function.__name__ == "<lambda>":
        raise BadOption(name="function", value=function, expected="a def, or be given a name=")
    if given is None and _hides_its_function(function):
        expected = "one that kept its own name: give its decorator functools.wraps, or the task a name="
        raise BadOption(name="function", value=function, expected=expected)
    name = check_id(given or default_name(function), "name of a task")
    unique, schedule = own.pop("unique", None), Schedule.of(own.pop("cron", None))
    handler = handler_for(function, name, _retry_on(own.pop("retry_on", (Exception,))))
    unique_id = None if unique is None else UniqueId(unique, function)
    made: Task[..., Any, Any] = Task(handler, Options().but(**own), unique_id, schedule)
    handler.task = made
    registry.register(handler, _place(function))
    return made


def _hides_its_function(function: Callable[..., Any]) -> bool:
    """Whether it is what a decorator without `functools.wraps` made: all that it is put on would have one name."""
    code: CodeType = function.__code__
    takes_anything = code.co_flags & CO_VARARGS and code.co_flags & CO_VARKEYWORDS and not code.co_argcount
    if not takes_anything or hasattr(function, "__wrapped__"):
        return False
    return any(isinstance(_content(cell), FunctionType) for cell in getattr(function, "__closure__", None) or ())


def _content(cell: CellType) -> Any:
    """None while there is nothing in it: what the decorated function will be called is not yet known to itself."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _place(function: Callable[..., Any]) -> str:
    """Where it is written, and not where a decorator is."""
    code: CodeType = getattr(unwrap(function), "__code__", function.__code__)
    return f"{code.co_filename}:{code.co_firstlineno}"


def _known(options: dict[str, Any]) -> dict[str, Any]:
    """The options, when a task has them all; those of one push alone are none of them."""
    for name, value in options.items():
        if name in OF_ONE_PUSH:
            expected = f"given for one push, as using({name}=...); unique= gives each call an id"
            raise BadOption(name=name, value=value, expected=expected)
        if name not in OPTIONS:
            raise unknown_option(name, OPTIONS)
    return dict(options)


def _retry_on(value: Any) -> tuple[type[BaseException], ...]:
    found = (value,) if not isinstance(value, Iterable) or isinstance(value, type) else tuple(value)
    if not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in found):
        raise BadOption(name="retry_on", value=value, expected="exception classes")
    return found


def default_name(function: Callable[..., Any]) -> str:
    """The name of a task that was given none: its module and its own name."""
    return f"{function.__module__}.{function.__qualname__.replace('<locals>.', '')}"
