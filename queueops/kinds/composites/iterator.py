"""Iterators: tasks that emit others in batches, with a limited number open at a time."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections import abc
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, ClassVar

from queueops.errors import BadOption
from queueops.errors.composites import BadBatch, CompositeTooLarge, UnfitParts
from queueops.kinds.composites import stand_in
from queueops.kinds.composites.composite_store import get_composite_store
from queueops.kinds.composites.flatten import nodes_of
from queueops.kinds.composites.parts import Composite, Part
from queueops.model.contracts import Node
from queueops.model.durations import to_ms
from queueops.results import waiting
from queueops.results.types import ResultType, encoder_of
from queueops.tasks import registry
from queueops.tasks.class_based import ClassTask, RunClass, options_of, place_of, require, unique_of
from queueops.tasks.context import Context
from queueops.tasks.depends import aenter_all, enter_all
from queueops.tasks.encoding import decode_result
from queueops.tasks.handlers import FunctionHandler
from queueops.tasks.hooks import middlewares_of
from queueops.tasks.store_call import write

if TYPE_CHECKING:
    from queueops.schedules.schedule import Schedule

MOST_TASKS, WIDEST = 1_000, 500


@dataclass(frozen=True, slots=True)
class Batch:
    """The next state and the tasks to run; without tasks, ``iterate`` is called again when a task ends."""

    state: Any = None
    tasks: Sequence[Part] = ()


class Iterator(RunClass, abstract=True):
    """Base class of iterators: define ``iterate``; ``push`` hands the task to workers.

    ``iterate(state, *args)`` is called with None, then with the last state that it returned. It is called whenever the
    window has space: at most ``window`` of its tasks run or wait at a time. It returns a ``Batch``, or None at the end.
    The iterator ends when its tasks have ended. A failed attempt is retried as with any task. ``on_failure``: "fail"
    ends the iterator and cancels the rest when one of its tasks fails; "continue" fails at the end. ``keep_tasks``:
    seconds that its succeeded tasks are kept (None: as each task says). The others are kept as long as the iterator,
    and a retry runs them again. ``cron``: when it runs by itself, a line or a `Schedule`; not inherited.
    """

    _options_of_kind = ("window", "keep_tasks", "on_failure")
    window: ClassVar[int] = 100
    keep_tasks: ClassVar[float | None] = None
    on_failure: ClassVar[str] = "fail"

    @abstractmethod
    def iterate(self, state: Any, *args: Any, **kwargs: Any) -> Batch | Awaitable[Batch | None] | None:
        """Return the next batch; may be `async def`. A class that does not define it is refused."""

    @classmethod
    def _register(cls, name: str, schedule: Schedule | None) -> None:
        require(cls, "iterate", "the next batch", "def iterate(self, state): return Batch(...)")
        _check(cls, name)
        handler = AsyncIteratorHandler(cls, name) if iscoroutinefunction(cls.iterate) else IteratorHandler(cls, name)
        task = ClassTask(handler, options_of(cls), unique_of(cls), schedule)
        task.own = tuple(_own(cls))
        handler.task = cls.task = task
        registry.register(handler, place_of(cls))


class IteratorHandler(FunctionHandler):
    """Calls ``iterate`` once, and writes the batch that it returned."""

    kind = "iterator"

    def __init__(self, cls: type[Iterator], name: str) -> None:
        super().__init__(partial(cls.iterate, cls(), None), name, tuple(cls.retry_on))
        self.middleware = middlewares_of(cls.middleware)
        self.cls = cls

    @cached_property
    def result_type(self) -> ResultType:
        """None, and not the batch in the annotation of ``iterate``."""
        return ResultType(self.name)

    @cached_property
    def _encode_state(self) -> Callable[[str, Any, str], bytes]:
        """How the state is stored, by its annotation in ``iterate``."""
        return encoder_of(self.cls().iterate)

    def is_unfit(self, error: BaseException) -> bool:
        """Whether an error says that the parts which it answered cannot be stored."""
        return isinstance(error, UnfitParts)

    def run(self, context: Context) -> Any:
        """Run one step; the result of an iterator is None."""
        state, args, kwargs = self._arguments(context)
        with ExitStack() as stack:
            given = enter_all(self._wanted(kwargs), stack)
            found = self.cls().iterate(state, *args, **kwargs, **given)
        self._emit(context, found)

    def _arguments(self, context: Context) -> tuple[Any, Sequence[Any], dict[str, Any]]:
        """The state, and the arguments of the push."""
        return decode_result(self.name, context.lease.own.get("cursor", b"")), *self.plan.decode(context.lease.args)

    def _emit(self, context: Context, found: object) -> None:
        lease = context.lease
        if found is None:
            write(context, get_composite_store().emit, lease, (), "done", b"")
            return
        if not isinstance(found, Batch) or not isinstance(found.tasks, list | tuple):
            raise BadBatch(name=self.name, value=repr(found)[:100])
        nodes = self._nodes(context, found.tasks)
        state = self._encode_state(self.name, found.state, "state")
        answer = "next" if nodes else "idle"
        stand_in.resolved(nodes, lambda: write(context, get_composite_store().emit, lease, nodes, answer, state))

    def _nodes(self, context: Context, tasks: Sequence[Part]) -> list[Node]:
        if len(tasks) > MOST_TASKS:
            advice = "Answer them in several batches."
            raise CompositeTooLarge(name=self.name, limit=MOST_TASKS, what="tasks in one batch", advice=advice)
        if not tasks:
            return []
        options = {"id": context.lease.id, "pool": context.lease.pool, "meta": context.meta}
        return nodes_of(Composite("group", tasks, name=self.name).using(**options))


class AsyncIteratorHandler(IteratorHandler):
    """The handler for an async ``iterate``; its batch is written in a thread."""

    is_async = True

    async def run(self, context: Context) -> Any:
        """Run one step; the result of an iterator is None."""
        state, args, kwargs = self._arguments(context)
        async with AsyncExitStack() as stack:
            given = await aenter_all(self._wanted(kwargs), stack)
            found = await self.cls().iterate(state, *args, **kwargs, **given)  # type: ignore[misc]  # it is async
        await waiting.in_thread(partial(self._emit, context, found))


def _own(cls: type[Iterator]) -> abc.Iterator[tuple[str, str | int]]:
    """The record fields of iterators only."""
    yield "wi", cls.window
    if cls.on_failure != "fail":
        yield "of", cls.on_failure
    if cls.keep_tasks is not None:
        yield "kt", to_ms("keep_tasks", cls.keep_tasks)


def _check(cls: type[Iterator], name: str) -> None:
    iterate: Any = cls.iterate
    if not callable(iterate) or inspect.isasyncgenfunction(iterate) or inspect.isgeneratorfunction(iterate):
        raise BadOption(name=f"{name}.iterate", value=iterate, expected='a "def" or "async def" that returns a Batch')
    try:
        inspect.signature(iterate).bind_partial(None, None)
    except TypeError:
        expected = 'a "def iterate(self, state, ...)": its first argument is the state'
        raise BadOption(name=f"{name}.iterate", value=iterate, expected=expected) from None
    if type(cls.window) is not int or not 1 <= cls.window <= WIDEST:
        raise BadOption(name="window", value=cls.window, expected=f"a whole number from 1 to {WIDEST}")
    if cls.on_failure not in ("fail", "continue"):
        raise BadOption(name="on_failure", value=cls.on_failure, expected="fail or continue")
