"""Templates: chains and groups as classes, whose parts are computed from the arguments at the push."""

from __future__ import annotations

import asyncio
import inspect
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from asgiref.sync import async_to_sync

from queueops.errors.composites import NoPart, UnfitParts
from queueops.kinds.composites import stand_in
from queueops.kinds.composites.composite_store import get_composite_store
from queueops.kinds.composites.parts import PART_ADVICE, Composite, Part
from queueops.model.durations import Delay
from queueops.model.weights import shown, weights_below
from queueops.results.handle import TaskHandle
from queueops.tasks import registry
from queueops.tasks.class_based import ClassTask, TaskClass, delay_of, place_of, require, unique_of
from queueops.tasks.context import Context
from queueops.tasks.handlers import FunctionHandler
from queueops.tasks.options import Options
from queueops.tasks.store_call import write
from queueops.tasks.task import Task

if TYPE_CHECKING:
    from queueops.schedules.schedule import Schedule


class Template(TaskClass, abstract=True):
    """Base class of templates: subclass `Chain` or `Group` and define ``init``, which returns the parts.

    ``on_conflict`` says what a second push of one ``task_id`` does ("ignore" or "reject"). ``cron``: when it runs by
    itself. A worker then runs `init` as the first step of the task, and retries it as that of any task.
    """

    kind: ClassVar[str] = ""
    pool: ClassVar[str | None] = None
    on_failure: ClassVar[str] = "fail"
    _options_of_all = (*TaskClass._options_of_all, "kind", "pool")
    _options_of_kind = ("on_failure",)

    @abstractmethod
    def init(self, *args: Any, **kwargs: Any) -> Any:
        """Return the parts; may be `async def`. It runs in the process that pushes.

        A class that does not define it is refused.
        """

    @classmethod
    def s(cls, /, *args: Any, **kwargs: Any) -> TemplatePart:
        """Make this call a part of a chain or group."""
        return TemplatePart(cls, args, kwargs)

    @classmethod
    def using(cls, **options: Any) -> ChosenTemplate:
        """The same template with other options: pool, tags, keep, delay, id, on_conflict, durable, meta.

        ``on_conflict`` is ignore or reject. The returned object is pushed, scheduled, and made a part, as the class is.
        Raises UnknownOption and BadOption.
        """
        return ChosenTemplate(cls, options)

    @classmethod
    def _register(cls, name: str, schedule: Schedule | None) -> None:
        require(cls, "init", "the parts", "def init(self): return [...]")
        cls.s()  # checks what the class says
        given = {"pool": cls.pool or "default", "tags": cls.tags, "keep": cls.keep, "on_conflict": cls.on_conflict}
        handler = TemplateHandler(cls, name)
        task = ClassTask(handler, Options().but(**given), unique_of(cls), schedule)
        task.own = (("ex", 1), ("of", cls.on_failure)) if cls.on_failure != "fail" else (("ex", 1),)
        handler.task = cls.task = task
        registry.register(handler, place_of(cls))


class TemplateHandler(FunctionHandler):
    """Runs ``init`` in a worker, for a schedule, and writes the parts: the task then waits for them."""

    def __init__(self, cls: type[Template], name: str) -> None:
        super().__init__(cls().init, name, (Exception,))
        self.kind = cls.kind
        self.cls = cls

    def is_unfit(self, error: BaseException) -> bool:
        """Whether an error says that the parts which it answered cannot be stored."""
        return isinstance(error, UnfitParts)

    def run(self, context: Context) -> None:
        """Run the first step of a chain or a group: compute its parts."""
        lease = context.lease
        args, kwargs = self.plan.decode(lease.args)
        nodes = TemplatePart(self.cls, args, kwargs).using(id=lease.id, pool=lease.pool, meta=context.meta).nodes()
        total = shown(weights_below(nodes)[0]).encode()
        stand_in.resolved(nodes, lambda: write(context, get_composite_store().emit, lease, nodes, "tree", total))


class Chain(Template, abstract=True):
    """A chain whose parts ``init`` returns."""

    kind = "chain"


class Group(Template, abstract=True):
    """A group whose parts ``init`` returns."""

    kind = "group"


class ChosenTemplate:
    """A template with other options for this caller: see `Template.using`."""

    def __init__(self, cls: type[Template], options: Mapping[str, Any]) -> None:
        self._cls, self._options = cls, dict(options)
        self.s()  # checks them

    @property
    def task(self) -> Task[Any, Any, Any]:
        """The task with these options, for a schedule."""
        return self._cls.task.using(**self._options)

    def s(self, /, *args: Any, **kwargs: Any) -> TemplatePart:
        """Make this call a part of a chain or group."""
        return self._cls.s(*args, **kwargs).using(**self._options)

    def si(self, /, *args: Any, **kwargs: Any) -> TemplatePart:
        """The same call, without the result of the part before it."""
        return self.s(*args, **kwargs).si()

    def push(self, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """Push this call to workers."""
        return self.s(*args, **kwargs).push()

    async def apush(self, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """The async form of `push`."""
        return await self.s(*args, **kwargs).apush()

    def postpone(self, delay: Delay | None = None, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """Push this call after `delay`; None: the class's own `delay`."""
        return self.s(*args, **kwargs).postpone(delay)

    async def apostpone(self, delay: Delay | None = None, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """The async form of `postpone`."""
        return await self.s(*args, **kwargs).apostpone(delay)

    def push_on_commit(self, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """Push this call once the current database transaction is committed."""
        return self.s(*args, **kwargs).push_on_commit()

    async def apush_on_commit(self, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """The async form of `push_on_commit`."""
        return await self.s(*args, **kwargs).apush_on_commit()


class TemplatePart(Composite):
    """One call of a template: its parts are not known before the push."""

    is_template = True

    def __init__(self, cls: type[Template], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        super().__init__(cls.kind, (), name=cls.name, on_failure=cls.on_failure)
        self.cls, self.args, self.kwargs = cls, args, kwargs
        given = {"tags": cls.tags, "keep": cls.keep, "on_conflict": cls.on_conflict}
        self.__dict__ |= self.using(**given, **({} if cls.pool is None else {"pool": cls.pool})).__dict__
        self.options = self.options.with_postpone_delay(delay_of(cls))

    def arguments(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The arguments of the call."""
        return self.args, self.kwargs

    def expanded(self) -> Composite:
        """The parts that ``init`` returns. Raises BadArguments, NoPart, EmptyComposite and all errors of ``init``."""
        self.cls.task.handler.plan.bind(self.args, self.kwargs)
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
                value=repr(parts)[:100], name=f"{self.name}: init() must return a list, and", advice=PART_ADVICE
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
