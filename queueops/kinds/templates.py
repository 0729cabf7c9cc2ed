"""Chains and groups as classes: what they are made of is computed when they are pushed, from the arguments."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from asgiref.sync import async_to_sync

from queueops.composite_errors import NoPart
from queueops.handle import TaskHandle
from queueops.ids import check_id
from queueops.kinds.parts import PART_ADVICE, Composite, Part
from queueops.kinds.task import default_name


class Template:
    """Subclass `Chain` or `Group` and give it ``init``, which answers its parts; ``push`` leaves it to workers.

    ``task_id`` of the same arguments, if there is one, gives the id: what a second push of it does says
    ``on_conflict`` ("ignore" or "reject").
    """

    kind: ClassVar[str] = ""
    name: ClassVar[str] = ""
    pool: ClassVar[str | None] = None
    tags: ClassVar[Sequence[str]] = ()
    keep: ClassVar[float | None] = None
    on_conflict: ClassVar[str] = "ignore"
    on_failure: ClassVar[str] = "fail"

    def __init_subclass__(cls, *, abstract: bool = False, **kwargs: Any) -> None:
        """Check the options of the class. Raises BadOption."""
        super().__init_subclass__(**kwargs)
        if not abstract:
            cls.name = check_id(cls.__dict__.get("name") or default_name(cls), "name of a task")
            cls.s()

    def init(self, *args: Any, **kwargs: Any) -> Any:
        """Answer the parts; may be `async def`. It runs where the push is made."""
        raise NotImplementedError(f"{self.name} has no init()")

    @classmethod
    def s(cls, *args: Any, **kwargs: Any) -> TemplatePart:
        """Make this call a part of a chain or group."""
        return TemplatePart(cls, args, kwargs)

    @classmethod
    def si(cls, *args: Any, **kwargs: Any) -> TemplatePart:
        """The same, without the result of what comes before it."""
        return cls.s(*args, **kwargs).si()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """Leave this call to workers."""
        return cls.s(*args, **kwargs).push()

    @classmethod
    async def apush(cls, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """The same for async code."""
        return await cls.s(*args, **kwargs).apush()

    @classmethod
    def postpone(cls, delay: Any, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """The same, not before `delay`."""
        return cls.s(*args, **kwargs).postpone(delay)

    @classmethod
    def push_on_commit(cls, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """The same, once the current database transaction is committed."""
        return cls.s(*args, **kwargs).push_on_commit()


class Chain(Template, abstract=True):
    """A chain whose parts ``init`` answers."""

    kind = "chain"


class Group(Template, abstract=True):
    """A group whose parts ``init`` answers."""

    kind = "group"


class TemplatePart(Composite):
    """One call of a template: its parts are not known before it is pushed."""

    is_template = True

    def __init__(self, cls: type[Template], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        super().__init__(cls.kind, (), name=cls.name, on_failure=cls.on_failure)
        self.cls, self.args, self.kwargs = cls, args, kwargs
        given = {"tags": cls.tags, "keep": cls.keep, "on_conflict": cls.on_conflict}
        self.__dict__ |= self.using(**given, **({} if cls.pool is None else {"pool": cls.pool})).__dict__

    def arguments(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """What it was called with."""
        return self.args, self.kwargs

    def expanded(self) -> Composite:
        """The parts that ``init`` answers. Raises NoPart, EmptyComposite and whatever ``init`` raises."""
        template = self.cls()
        parts = self._checked(_called(template.init, self.args, self.kwargs))
        other = Composite(self.kind, parts, name=self.name, on_failure=self.on_failure)
        other.options, other.own_pool, other.ignores_previous = self.options, self.own_pool, self.ignores_previous
        own_id = getattr(template, "task_id", None)
        if own_id is not None and other.options.id is None:
            other = other.using(id=own_id(*self.args, **self.kwargs))
        return other.expanded()

    def _checked(self, parts: Any) -> list[Part]:
        if not isinstance(parts, Iterable) or isinstance(parts, (str, bytes)):
            raise NoPart(
                value=repr(parts)[:100], name=f"{self.name}: init() must answer a list, and", advice=PART_ADVICE
            )
        return list(parts)


def _called(init: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    if not inspect.iscoroutinefunction(init):
        return init(*args, **kwargs)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return async_to_sync(init)(*args, **kwargs)
    raise NoPart(value="an async init()", name="a push from async code", advice="`await ....apush()`")
