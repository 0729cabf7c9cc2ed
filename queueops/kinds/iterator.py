"""Iterators: tasks that emit others, batch after batch, at most so many at a time."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from queueops import registry
from queueops.composite_errors import BadBatch, CompositeTooLarge
from queueops.context import Context
from queueops.contracts import Node, Push
from queueops.encoding import decode_result, encode_result
from queueops.errors import BadOption
from queueops.handle import TaskHandle
from queueops.ids import check_id
from queueops.kinds.function import FunctionHandler
from queueops.kinds.options import UNSET, Options
from queueops.kinds.parts import Composite, Part, Signature
from queueops.kinds.planting import nodes_of
from queueops.kinds.pushable import Task
from queueops.kinds.task import default_name
from queueops.kinds.unique import UniqueId
from queueops.redis import broker as brokers
from queueops.retry import DEFAULT, Retry

MOST_TASKS, WIDEST = 1_000, 500


@dataclass(frozen=True, slots=True)
class Batch:
    """What ``iterate`` answers: the next state and the tasks to run. Without tasks it is called again when one ends."""

    state: Any = None
    tasks: Sequence[Part] = ()


class Iterator:
    """Subclass it and give it ``iterate``; ``push`` leaves it to workers.

    ``iterate(state, *args)`` is called with None, then with the state that it answered last, whenever there is room
    for more tasks: at most ``window`` of them run or wait at a time. It answers a ``Batch`` or, when there is no more,
    None; the iterator ends when its tasks have. An attempt that fails is tried again as any task's is.
    ``on_failure``: "fail" ends it and cancels the rest when one of its tasks fails; "continue" fails at the end.
    """

    name: ClassVar[str] = ""
    pool: ClassVar[str] = "default"
    lane: ClassVar[str | None] = None
    priority: ClassVar[int] = 0
    tags: ClassVar[Sequence[str]] = ()
    keep: ClassVar[float | None] = None
    on_conflict: ClassVar[str] = "ignore"
    retries: ClassVar[int | None] = None
    retry: ClassVar[Retry] = DEFAULT
    retry_on: ClassVar[Sequence[type[BaseException]]] = (Exception,)
    timeout: ClassVar[Any] = UNSET
    window: ClassVar[int] = 100
    on_failure: ClassVar[str] = "fail"

    task: ClassVar[Task[Any, Any, Any]]

    def __init_subclass__(cls, *, abstract: bool = False, **kwargs: Any) -> None:
        """Register the class under its name, and check its options. Raises BadOption."""
        super().__init_subclass__(**kwargs)
        if not abstract:
            _register(cls)

    def iterate(self, state: Any, *args: Any, **kwargs: Any) -> Batch | None:
        """The next batch."""
        raise NotImplementedError(f"{self.name} has no iterate()")

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """Leave this call to workers."""
        return cls.task.push(*args, **kwargs)

    @classmethod
    async def apush(cls, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """The same for async code."""
        return await cls.task.apush(*args, **kwargs)

    @classmethod
    def postpone(cls, delay: Any, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """Leave this call to workers, not before `delay`."""
        return cls.task.postpone(delay, *args, **kwargs)

    @classmethod
    def push_on_commit(cls, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """Leave this call to workers once the current database transaction is committed."""
        return cls.task.push_on_commit(*args, **kwargs)

    @classmethod
    def s(cls, *args: Any, **kwargs: Any) -> Signature:
        """Make this call a part of a chain or group."""
        return cls.task.s(*args, **kwargs)

    @classmethod
    def si(cls, *args: Any, **kwargs: Any) -> Signature:
        """The same, without the result of the task before it."""
        return cls.task.si(*args, **kwargs)

    @classmethod
    def using(cls, **options: Any) -> Task[Any, Any, Any]:
        """The same with other options for this caller."""
        return cls.task.using(**options)


class IteratorTask(Task[Any, Any, Any]):
    """The task of an Iterator class."""

    own: tuple[tuple[str, str | int], ...] = ()

    def _made(self, args: Sequence[Any], kwargs: dict[str, Any], *, after: bool = False) -> Push:
        push = super()._made(args, kwargs, after=after)
        push.kind = "iterator"
        push.own = self.own
        return push


class IteratorHandler(FunctionHandler):
    """Calls ``iterate`` once, and writes what it answered."""

    kind = "iterator"

    def __init__(self, cls: type[Iterator], name: str) -> None:
        super().__init__(partial(cls.iterate, cls(), None), name, tuple(cls.retry_on))
        self.cls = cls

    def run(self, context: Context) -> None:
        """One step; the result of an iterator is None."""
        lease = context.lease
        args, kwargs = self.plan.decode(lease.args)
        found: object = self.cls().iterate(decode_result(self.name, lease.cursor), *args, **kwargs)
        if found is None:
            brokers.get_broker().emit(lease, (), "done", b"")
            return
        if not isinstance(found, Batch) or not isinstance(found.tasks, list | tuple):
            raise BadBatch(name=self.name, value=repr(found)[:100])
        nodes = self._nodes(context, found.tasks)
        state = encode_result(self.name, found.state, "state")
        brokers.get_broker().emit(lease, nodes, "next" if nodes else "idle", state)

    def _nodes(self, context: Context, tasks: Sequence[Part]) -> list[Node]:
        if len(tasks) > MOST_TASKS:
            advice = "Answer them in several batches."
            raise CompositeTooLarge(name=self.name, limit=MOST_TASKS, what="tasks in one batch", advice=advice)
        if not tasks:
            return []
        return nodes_of(Composite("group", tasks, name=self.name).using(id=context.lease.id, pool=context.lease.pool))


_PUSHED = ("pool", "lane", "priority", "tags", "keep", "on_conflict", "retries", "retry", "timeout")


def _register(cls: type[Iterator]) -> None:
    name = check_id(cls.__dict__.get("name") or default_name(cls), "name of a task")
    if inspect.iscoroutinefunction(cls.iterate) or inspect.isgeneratorfunction(cls.iterate):
        raise BadOption(name=f"{name}.iterate", value=cls.iterate, expected='a plain "def" that answers a Batch')
    if type(cls.window) is not int or not 1 <= cls.window <= WIDEST:
        raise BadOption(name="window", value=cls.window, expected=f"a whole number from 1 to {WIDEST}")
    if cls.on_failure not in ("fail", "continue"):
        raise BadOption(name="on_failure", value=cls.on_failure, expected="fail or continue")
    given = {option: getattr(cls, option) for option in _PUSHED}
    options = Options().but(**{o: value for o, value in given.items() if value is not getattr(Iterator, o)})
    handler = IteratorHandler(cls, name)
    own_id = getattr(cls, "task_id", None)
    task = IteratorTask(handler, options, UniqueId(partial(own_id, cls())) if own_id else None)
    task.own = (("wi", cls.window), ("of", cls.on_failure)) if cls.on_failure != "fail" else (("wi", cls.window),)
    handler.task = cls.task = task
    cls.name = name
    registry.register(handler, f"{cls.__qualname__} in {cls.__module__}")
