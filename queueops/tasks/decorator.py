"""Task decorator: `@task` makes a function a task."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator, Mapping
from datetime import timedelta
from inspect import CO_VARARGS, CO_VARKEYWORDS, unwrap
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, overload

from queueops.errors import BadOption
from queueops.errors.tasks import BadTask
from queueops.model.ids import check_id
from queueops.model.retry import DEFAULT, Retry
from queueops.tasks import discovery, limited, registry
from queueops.tasks.foreign_names import unknown_option
from queueops.tasks.handlers import handler_for
from queueops.tasks.hooks import Middleware, encoder_of, middlewares_of, on_yield_of
from queueops.tasks.limit_key import LimitBy, LimitKey
from queueops.tasks.options import OF_A_TASK, READERS, UNSET, OnConflict, Options, schedule_of
from queueops.tasks.task import Task
from queueops.tasks.unique_id import Unique, UniqueId

if TYPE_CHECKING:
    from queueops.schedules.schedule import Schedule
    from queueops.tasks.follow_up import Call, FollowUpOutcome

__all__ = ["Task", "task"]

OF_ONE_PUSH = ("id",)
OPTIONS = {*READERS, *OF_A_TASK} - set(OF_ONE_PUSH)
P = ParamSpec("P")
R = TypeVar("R")
Y = TypeVar("Y")


class Decorator(Protocol):
    """Makes a task from a function; the type of a handle's result depends on the kind of function."""

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Task[P, Coroutine[Any, Any, R], R]: ...
    @overload  # a Generator is an Iterator, too: it comes first, because the first match determines the result
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
    expected: type[BaseException] | Iterable[type[BaseException]] = (),
    tags: Iterable[str] = (),
    keep: float | timedelta | None = None,
    total: float | None = None,
    delay: float | timedelta | None = None,
    expires: float | timedelta | None = None,
    limit: int | None = None,
    rate: str | float | None = None,
    unique_for: float | timedelta | None = None,
    throttle: float | timedelta | None = None,
    debounce: float | timedelta | None = None,
    limit_key: LimitBy | None = None,
    on_conflict: OnConflict = "ignore",
    durable: bool = False,
    meta: Mapping[str, Any] | None = None,
    follow_up: Mapping[FollowUpOutcome, Call | Iterable[Call]] | None = None,
    middleware: Iterable[Middleware] = (),
    encoder: Callable[[Any], Any] | None = None,
    on_yield: Callable[[Any], Any] | None = None,
) -> Decorator: ...
def task(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a function a task. All options are optional.

    name: by default the function's module and name. pool, lane, priority (-100..100, higher first), tags. retries:
    further attempts after the first one failed (the pool's setting, or 2). retry: a `Retry`, the delays between them.
    retry_on: the exceptions that are retried. expected: exceptions with which the task fails at once, without an alarm.
    timeout: seconds for one attempt.

    unique: a function of the arguments, or a template such as "mail:{user_id}", that returns the id (None: a new one).
    on_conflict: what a second push of the same id does. keep: seconds that the ended task is kept. total: of its
    progress; it is the task's weight in a chain or a group (1 by default). delay: seconds that `postpone()` waits by
    default. expires: seconds after which a task that has not begun ends as cancelled. durable: wait until the store
    has written it to disk. meta: a small dict that the task and its descendants have as `current().meta`. follow_up:
    calls that the end of the task pushes, by outcome, such as {"success": report.s(), "failure": alert.s()}.

    limit: how many calls run at a time, over all workers. rate: how many begin, such as "10/m". limit_key: a function
    of the arguments, or a template; limit and rate hold for the calls of each key (None: this call has no limit).
    throttle: seconds within which one call of a key runs, and others are left out. debounce: seconds that a call waits
    for another one of its key, which replaces it. unique_for: seconds within which a push of the same id is left out.

    cron: when it runs by itself, a line such as "0 3 * * *" or a `Schedule`; a watchdog pushes these runs. middleware:
    of this task alone, inside those of the settings. encoder: converts the function's return value for the store.
    on_yield: a function for each yield of a generator.
    """
    if function is not None:
        return _made_task(function, options)
    return functools.partial(_made_task, options=options)


def _made_task(function: Callable[..., Any], options: dict[str, Any]) -> Task[..., Any, Any]:
    own = _known(options)
    if reason := _unfit(function):
        raise BadTask(reason=reason)
    if (given := own.pop("name", None)) is None and function.__name__ == "<lambda>":
        example = '@task(name="app.name")'
        raise BadTask(
            reason=f'A lambda has no name that a worker finds. Write "def NAME(...):" below @task, or {example}.'
        )
    if given is None and _hides_its_function(function):
        expected = "one that kept its own name: give its decorator functools.wraps, or the task a name="
        raise BadOption(name="function", value=function, expected=expected)
    name = check_id(given or default_name(function), "name of a task")
    unique, schedule = own.pop("unique", None), schedule_of(own.pop("cron", None))
    limit_key = _limit_key(own, function)
    handler = handler_for(function, name, _errors("retry_on", own.pop("retry_on", (Exception,))))
    handler.expected = _errors("expected", own.pop("expected", ()))
    handler.middleware = middlewares_of(own.pop("middleware", ()))
    handler.encoder = encoder_of(own.pop("encoder", None))
    handler.on_yield = on_yield_of(own.pop("on_yield", None), function)
    unique_id = None if unique is None else UniqueId(unique, function)
    postpone_delay = own.pop("delay", None)
    usual = Options().but(**own).with_postpone_delay(postpone_delay)
    limited.check(usual, has_id=unique_id is not None)
    made: Task[..., Any, Any] = Task(handler, usual, unique_id, schedule, limit_key)
    made.hidden = discovery.hidden(function, named=given is not None)
    handler.task = made
    registry.register(handler, _place(function))
    return made


def _unfit(function: Any) -> str:
    """Why an object cannot be a task, and what to write; empty if it can."""
    if isinstance(function, str):
        return f'@task was given the text {function!r}. Write @task(name="{function}").'
    if isinstance(function, type):
        return f"{function.__name__} is a class. Write a function, or subclass MapReduce, Iterator, Chain or Group."
    if isinstance(function, (classmethod, staticmethod)):
        sort = type(function).__name__
        return f"@task was given a {sort}. Write a function outside of the class, and call the method from there."
    if not hasattr(function, "__code__"):
        return f"@task was given {function!r}. Put it directly above a def or an async def."
    if next(iter(function.__code__.co_varnames[: function.__code__.co_argcount]), "") == "self":
        name = function.__qualname__.rpartition("<locals>.")[2]
        if "." not in name:
            return f"{name} takes self, and a task gets none. Take it out, and write current() for its context."
        advice = "Move it out of the class, pass a primary key for self, and call the method from there."
        return f"{name} is a method: a push brings no instance. {advice}"
    return ""


def _hides_its_function(function: Callable[..., Any]) -> bool:
    """Whether a decorator without `functools.wraps` made it: all functions under that decorator would have one name."""
    code: CodeType = function.__code__
    takes_anything = code.co_flags & CO_VARARGS and code.co_flags & CO_VARKEYWORDS and not code.co_argcount
    if not takes_anything or hasattr(function, "__wrapped__"):
        return False
    return any(isinstance(_content(cell), FunctionType) for cell in getattr(function, "__closure__", None) or ())


def _content(cell: CellType) -> Any:
    """None while the cell is empty: the decorated function's name is not yet bound."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _place(function: Callable[..., Any]) -> str:
    """The place of the function itself, not of a decorator."""
    code: CodeType = getattr(unwrap(function), "__code__", function.__code__)
    return f"{code.co_filename}:{code.co_firstlineno}"


def _known(options: dict[str, Any]) -> dict[str, Any]:
    """The options, if a task has all of them; options of a single push are not included."""
    for name, value in options.items():
        if name in OF_ONE_PUSH:
            expected = f"given for one push, as using({name}=...); unique= gives each call an id"
            raise BadOption(name=name, value=value, expected=expected)
        if name not in OPTIONS:
            raise unknown_option(name, OPTIONS)
    return dict(options)


def _limit_key(own: dict[str, Any], function: Callable[..., Any]) -> LimitKey | None:
    """The key of a task's limits, taken from its options."""
    given = own.pop("limit_key", None)
    if given is None:
        return None
    if all(own.get(name) is None for name in ("limit", "rate", "throttle", "debounce")):
        raise BadOption(name="limit_key", value=given, expected="given with limit=, rate=, throttle= or debounce=")
    return LimitKey(given, function)


def _errors(name: str, value: Any) -> tuple[type[BaseException], ...]:
    found = (value,) if not isinstance(value, Iterable) or isinstance(value, type) else tuple(value)
    if not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in found):
        raise BadOption(name=name, value=value, expected="exception classes")
    return found


def default_name(function: Callable[..., Any]) -> str:
    """The default name of a task: its module and its own name."""
    return f"{function.__module__}.{function.__qualname__.replace('<locals>.', '')}"
