"""Class-based tasks: their class methods, and their options as attributes."""

from __future__ import annotations

import difflib
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from queueops.errors import BadArguments, BadOption, UnknownOption
from queueops.model.contracts import Push
from queueops.model.durations import Delay
from queueops.model.ids import check_id
from queueops.model.retry import DEFAULT, Retry
from queueops.results.handle import TaskHandle
from queueops.tasks.decorator import default_name
from queueops.tasks.discovery import hidden
from queueops.tasks.foreign_names import ForeignMethod, is_foreign, unknown_option
from queueops.tasks.hooks import Middleware
from queueops.tasks.options import OF_A_TASK, READERS, UNSET, Options, schedule_of
from queueops.tasks.task import Task
from queueops.tasks.unique_id import UniqueId

if TYPE_CHECKING:
    from queueops.kinds.composites.parts import Part, Signature
    from queueops.schedules.schedule import Schedule

PUSHED = ("pool", "lane", "priority", "tags", "keep", "on_conflict", "retries", "retry", "timeout", "expires")
"""The attributes that are options of a push."""
_OF_A_CLASS = ("name", "tags", "keep", "on_conflict", "cron", "delay")
_OF_A_RUN = (*_OF_A_CLASS, *PUSHED, "retry_on", "middleware")
_OF_USING = ("durable", "id", "meta", "follow_up")
_OF_CELERY = ("bind", "compression", "countdown", "crontab", "eta", "headers", "queue", "serializer")
"""Short words that other task queues take as attributes of a class. A project's own value has another name."""
_NEAR = 0.78
"""How like a misspelt attribute is to an option; `chunk_retry_delay` is, and `priorities` is not."""


def _refuse_misspelt(cls: type[TaskClass]) -> None:
    """Refuse an attribute that is meant as an option. Methods, private names and other attributes are the project's."""
    known = {*cls._options_of_all, *cls._options_of_kind}
    inherited = {name for base in cls.__mro__[1:] for name in vars(base)}
    for name, value in vars(cls).items():
        if name.startswith("_") or name in known | inherited or hasattr(value, "__get__"):
            continue
        what = f"The class {cls.__name__}"
        if name in _OF_USING:
            raise UnknownOption(what=what, name=name, advice=f". Write {cls.__name__}.using({name}=...)")
        if name in _OF_CELERY:
            error = unknown_option(name, known, what)
            advice = f"{error.advice} For a value of your own write _{name}."
            raise UnknownOption(what=what, name=name, advice=advice)
        if _is_meant(name, known):
            raise unknown_option(name, known, what)


def _is_meant(name: str, known: set[str]) -> bool:
    """Whether a name is an option of tasks or of another task queue, or nearly one. Short words of others are free."""
    if name in {*READERS, *OF_A_TASK} - {"limit", "rate", "throttle", "debounce"} or (is_foreign(name) and "_" in name):
        return True
    options = [option for option in known.union(_OF_A_RUN) if option[0] == name[0] and option != "name"]
    return bool(difflib.get_close_matches(name, options, n=1, cutoff=_NEAR))


class TaskClass:
    """A class whose calls are left to workers. A subclass with its own methods is registered when it is defined.

    ``cron``: when it runs by itself, a line or a `Schedule`; not inherited. ``task_id`` of the same arguments, if
    defined, gives the id. ``on_conflict`` says what a second push of that id does. ``delay``: seconds that `postpone()`
    waits by default; a `push` does not wait.
    """

    name: ClassVar[str] = ""
    tags: ClassVar[Sequence[str]] = ()
    keep: ClassVar[float | None] = None
    on_conflict: ClassVar[str] = "ignore"
    cron: ClassVar[str | Schedule | None] = None

    task: ClassVar[Task[Any, Any, Any]]
    _options_of_all: ClassVar[tuple[str, ...]] = _OF_A_CLASS
    """The attributes that are options of all classes of this sort."""
    _options_of_kind: ClassVar[tuple[str, ...]] = ()
    """The attributes that are options of this kind of class."""

    if TYPE_CHECKING:
        delay: ClassVar[float | timedelta | None]
    else:
        delay, apply_async, send, enqueue = ForeignMethod(), ForeignMethod(), ForeignMethod(), ForeignMethod()

        def __init__(self, *args, **kwargs):
            """Take no arguments; the arguments of a call are given to `push`."""
            if args or kwargs:
                name = type(self).__name__
                reason = f"it runs nothing. Write {name}.push(...), or {name}.s(...) for a part of a chain."
                raise BadArguments(name=name, reason=reason)

    def __init_subclass__(cls, *, abstract: bool = False, **kwargs: Any) -> None:
        """Register the class under its name, and check its options. Raises BadOption and UnknownOption."""
        super().__init_subclass__(**kwargs)
        _refuse_misspelt(cls)
        if not abstract:
            named = bool(cls.__dict__.get("name"))
            cls.name = check_id(cls.__dict__.get("name") or default_name(cls), "name of a task")
            cls._register(cls.name, schedule_of(cls.__dict__.get("cron")))
            cls.task.hidden = hidden(cls, named=named)

    @classmethod
    def push(cls, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """Leave this call to workers."""
        return cls.s(*args, **kwargs).push()

    @classmethod
    async def apush(cls, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """The same for async code."""
        return await cls.s(*args, **kwargs).apush()

    @classmethod
    def postpone(cls, delay: Delay | None = None, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """Leave this call to workers, not before `delay`; None: not before the class's own `delay`."""
        return cls.s(*args, **kwargs).postpone(delay)

    @classmethod
    async def apostpone(cls, delay: Delay | None = None, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """The same for async code."""
        return await cls.s(*args, **kwargs).apostpone(delay)

    @classmethod
    def push_on_commit(cls, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """Leave this call to workers once the current database transaction is committed."""
        return cls.s(*args, **kwargs).push_on_commit()

    @classmethod
    async def apush_on_commit(cls, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """The same for async code."""
        return await cls.s(*args, **kwargs).apush_on_commit()

    @classmethod
    def s(cls, /, *args: Any, **kwargs: Any) -> Part:
        """Make this call a part of a chain or group."""
        return cls.task.s(*args, **kwargs)

    @classmethod
    def si(cls, /, *args: Any, **kwargs: Any) -> Part:
        """The same, without the previous task's result."""
        return cls.s(*args, **kwargs).si()

    @classmethod
    @abstractmethod
    def _register(cls, name: str, schedule: Schedule | None) -> None:
        """Register the class under its name, and set its task."""


class ClassTask(Task[Any, Any, Any]):
    """The task of a class: its pushes have the class's kind, and the record fields of that kind."""

    own: tuple[tuple[str, str | int], ...] = ()

    def using(self, **options: Any) -> Task[Any, Any, Any]:
        """The same task with other options, as for any task; it counts its parts, so it has no `total`."""
        if "total" in options:
            expected = "left out: its total is the number of its parts"
            raise BadOption(name="total", value=options["total"], expected=expected)
        return super().using(**options)

    def _made(self, args: Sequence[Any], kwargs: dict[str, Any], *, after: bool = False) -> Push:
        push = super()._made(args, kwargs, after=after)
        push.kind, push.own = self.handler.kind, (*push.own, *self.own_fields(push))
        return push

    def own_fields(self, push: Push) -> tuple[tuple[str, str | int], ...]:
        """The record fields of this kind only."""
        return self.own


class RunClass(TaskClass, abstract=True):
    """A class whose methods workers run: each of its calls is one task, with a task's options."""

    _options_of_all: ClassVar[tuple[str, ...]] = _OF_A_RUN
    pool: ClassVar[str] = "default"
    lane: ClassVar[str | None] = None
    priority: ClassVar[int] = 0
    retries: ClassVar[int | None] = None
    retry: ClassVar[Retry] = DEFAULT
    retry_on: ClassVar[Sequence[type[BaseException]]] = (Exception,)
    timeout: ClassVar[Any] = UNSET
    expires: ClassVar[float | timedelta | None] = None
    middleware: ClassVar[Sequence[Middleware]] = ()

    @classmethod
    def push_many(cls, calls: Iterable[Sequence[Any]]) -> list[TaskHandle[Any]]:
        """Leave many calls to workers."""
        return cls.task.push_many(calls)

    @classmethod
    async def apush_many(cls, calls: Iterable[Sequence[Any]]) -> list[TaskHandle[Any]]:
        """The same for async code."""
        return await cls.task.apush_many(calls)

    @classmethod
    def push_many_on_commit(cls, calls: Iterable[Sequence[Any]]) -> list[TaskHandle[Any]]:
        """Leave many calls to workers once the current database transaction is committed."""
        return cls.task.push_many_on_commit(calls)

    @classmethod
    async def apush_many_on_commit(cls, calls: Iterable[Sequence[Any]]) -> list[TaskHandle[Any]]:
        """The same for async code."""
        return await cls.task.apush_many_on_commit(calls)

    @classmethod
    def s(cls, /, *args: Any, **kwargs: Any) -> Signature:
        """Make this call a part of a chain or group."""
        return cls.task.s(*args, **kwargs)

    @classmethod
    def si(cls, /, *args: Any, **kwargs: Any) -> Signature:
        """The same, without the previous task's result."""
        return cls.task.si(*args, **kwargs)

    @classmethod
    def using(cls, **options: Any) -> Task[Any, Any, Any]:
        """The same class with other options for this caller."""
        return cls.task.using(**options)


def options_of(cls: type[RunClass]) -> Options:
    """The options that a class sets itself. Raises BadOption."""
    given = {option: getattr(cls, option) for option in PUSHED}
    changed = {option: value for option, value in given.items() if value is not getattr(RunClass, option)}
    return Options().but(**changed).with_postpone_delay(delay_of(cls))


def require(cls: type[TaskClass], method: str, answers: str, example: str) -> None:
    """Refuse a class that neither has this method nor inherits it from a class of its project. Raises BadOption."""
    if getattr(getattr(cls, method), "__isabstractmethod__", False):
        raise BadOption(
            f"The class {cls.name} has no method {method}, which answers {answers}. Write: {example}. "
            f"A base class says: class {cls.__name__}({cls.__bases__[0].__name__}, abstract=True).",
            name=f"{cls.name}.{method}", value=None, expected="a method",
        )  # fmt: skip


def delay_of(cls: type[TaskClass]) -> Any:
    """The delay that a class sets for `postpone()`."""
    return getattr(cls, "delay", None)


def unique_of(cls: type[TaskClass]) -> UniqueId | None:
    """The function that gives a call its id, if the class defines one."""
    own_id = getattr(cls(), "task_id", None)
    return UniqueId(own_id) if own_id else None


def place_of(cls: type[TaskClass]) -> str:
    """The place where a class is defined, for the error about two classes of one name."""
    return f"{cls.__qualname__} in {cls.__module__}"
