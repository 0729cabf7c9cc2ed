"""Iterators: tasks that emit others, batch after batch, at most so many at a time."""

from __future__ import annotations

import inspect
from collections import abc
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from queueops import registry
from queueops.composite_errors import BadBatch, CompositeTooLarge
from queueops.context import Context
from queueops.contracts import Node
from queueops.durations import to_ms
from queueops.encoding import decode_result, encode_result
from queueops.errors import BadOption
from queueops.kinds.classes import ClassTask, RunClass, options_of, place_of, unique_of
from queueops.kinds.function import FunctionHandler
from queueops.kinds.parts import Composite, Part
from queueops.kinds.planting import nodes_of
from queueops.kinds.writing import write
from queueops.redis import broker as brokers
from queueops.schedule import Schedule

MOST_TASKS, WIDEST = 1_000, 500


@dataclass(frozen=True, slots=True)
class Batch:
    """What ``iterate`` answers: the next state and the tasks to run. Without tasks it is called again when one ends."""

    state: Any = None
    tasks: Sequence[Part] = ()


class Iterator(RunClass, abstract=True):
    """Subclass it and give it ``iterate``; ``push`` leaves it to workers.

    ``iterate(state, *args)`` is called with None, then with the state that it answered last, whenever there is room
    for more tasks: at most ``window`` of them run or wait at a time. It answers a ``Batch`` or, when there is no more,
    None; the iterator ends when its tasks have. An attempt that fails is tried again as any task's is.
    ``on_failure``: "fail" ends it and cancels the rest when one of its tasks fails; "continue" fails at the end.
    ``keep_tasks``: seconds that its tasks are kept when they have succeeded (None: as they say themselves); the others
    are kept as long as it is, and a retry runs them again. ``cron``: when it runs by itself, a line or a `Schedule`;
    not inherited.
    """

    window: ClassVar[int] = 100
    keep_tasks: ClassVar[float | None] = None
    on_failure: ClassVar[str] = "fail"

    def iterate(self, state: Any, *args: Any, **kwargs: Any) -> Batch | None:
        """The next batch."""
        raise NotImplementedError(f"{self.name} has no iterate()")

    @classmethod
    def _register(cls, name: str, schedule: Schedule | None) -> None:
        _check(cls, name)
        handler = IteratorHandler(cls, name)
        task = ClassTask(handler, options_of(cls), unique_of(cls), schedule)
        task.own = tuple(_own(cls))
        handler.task = cls.task = task
        registry.register(handler, place_of(cls))


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
            write(context, brokers.get_broker().emit, lease, (), "done", b"")
            return
        if not isinstance(found, Batch) or not isinstance(found.tasks, list | tuple):
            raise BadBatch(name=self.name, value=repr(found)[:100])
        nodes = self._nodes(context, found.tasks)
        state = encode_result(self.name, found.state, "state")
        write(context, brokers.get_broker().emit, lease, nodes, "next" if nodes else "idle", state)

    def _nodes(self, context: Context, tasks: Sequence[Part]) -> list[Node]:
        if len(tasks) > MOST_TASKS:
            advice = "Answer them in several batches."
            raise CompositeTooLarge(name=self.name, limit=MOST_TASKS, what="tasks in one batch", advice=advice)
        if not tasks:
            return []
        return nodes_of(Composite("group", tasks, name=self.name).using(id=context.lease.id, pool=context.lease.pool))


def _own(cls: type[Iterator]) -> abc.Iterator[tuple[str, str | int]]:
    """What only an iterator's record says."""
    yield "wi", cls.window
    if cls.on_failure != "fail":
        yield "of", cls.on_failure
    if cls.keep_tasks is not None:
        yield "kt", to_ms("keep_tasks", cls.keep_tasks)


def _check(cls: type[Iterator], name: str) -> None:
    iterate: Any = cls.iterate
    if not callable(iterate) or inspect.iscoroutinefunction(iterate) or inspect.isgeneratorfunction(iterate):
        raise BadOption(name=f"{name}.iterate", value=iterate, expected='a plain "def" that answers a Batch')
    try:
        inspect.signature(iterate).bind_partial(None, None)
    except TypeError:
        expected = 'a "def iterate(self, state, ...)": its first argument is the state'
        raise BadOption(name=f"{name}.iterate", value=iterate, expected=expected) from None
    if type(cls.window) is not int or not 1 <= cls.window <= WIDEST:
        raise BadOption(name="window", value=cls.window, expected=f"a whole number from 1 to {WIDEST}")
    if cls.on_failure not in ("fail", "continue"):
        raise BadOption(name="on_failure", value=cls.on_failure, expected="fail or continue")
