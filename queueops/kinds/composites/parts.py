"""Parts of composites: calls of tasks, chains and groups. They are plain values: creating one pushes nothing.

``flatten`` turns a tree of them into the nodes to write.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Self, overload

from asgiref.sync import sync_to_async

from queueops.errors import BadOption, IdInUse
from queueops.errors.composites import NoPart
from queueops.kinds.composites import stand_in
from queueops.kinds.composites.composite_store import get_composite_store
from queueops.kinds.composites.outbox import kept_tree
from queueops.model.durations import Delay
from queueops.redis import broker as brokers
from queueops.results.handle import TaskHandle
from queueops.tasks import push_hooks, transactions
from queueops.tasks.foreign_names import PART_METHODS, missing_attribute, unknown_option
from queueops.tasks.options import Options

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from queueops.model.contracts import LeaseRef, Node
    from queueops.tasks.task import Task

    Result = TypeVar("Result", covariant=True, default=Any)
    """The result of a part: `Composite` alone means `Composite[Any]`."""
else:
    from typing import TypeVar

    Result = TypeVar("Result", covariant=True)

_Last = TypeVar("_Last")
POLICIES = ("fail", "continue", "outcomes")
PART_ADVICE = "the call of a task such as task.s(1), a chain or a group"
OPTIONS = ("pool", "tags", "keep", "delay", "id", "on_conflict", "durable", "outbox", "meta", "follow_up")
"""The options of a composite in `using`; all others belong to its tasks."""


class Part(Generic[Result]):
    """A part of a chain or group, which can also be pushed alone."""

    # Not an ABC: isinstance() with ABCMeta is slow, and flattening asks three times a part. Type checkers see the rest.

    kind = ""
    name = ""
    ignores_previous = False

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Tell the QueueOps equivalent of a method of another task queue."""
            raise missing_attribute(self, name, "part", PART_METHODS)

    def __or__(self, other: Part[_Last]) -> Composite[_Last]:
        """Chain this part and the other one."""
        if not isinstance(other, Part):
            return NotImplemented
        return Composite("chain", (*_links(self), *_links(other)))

    @abstractmethod
    def push(self) -> TaskHandle[Result]:
        """Push it to workers."""

    async def apush(self) -> TaskHandle[Result]:
        """The async form of `push`."""
        return await transactions.in_thread(self.push)

    @abstractmethod
    def si(self) -> Self:
        """The same part, without the result of the part before it."""

    @abstractmethod
    def using(self, **options: Any) -> Self:
        """The same part with other options."""

    @abstractmethod
    def descending(self, root: str, under: LeaseRef, meta: bytes) -> Self:
        """The same part, pushed as a descendant of the task `root` under the lease of a running task."""

    @abstractmethod
    def postponed(self, delay: Delay | None) -> Self:
        """The same part with a delay for its push; None: its own delay. Raises BadOption."""

    def postpone(self, delay: Delay | None = None) -> TaskHandle[Result]:
        """Push it after `delay`: seconds, a `timedelta`, or an aware datetime; None: its own `delay`."""
        return self.postponed(delay).push()

    async def apostpone(self, delay: Delay | None = None) -> TaskHandle[Result]:
        """The async form of `postpone`."""
        return await self.postponed(delay).apush()

    @abstractmethod
    def push_on_commit(self) -> TaskHandle[Result]:
        """Push it once the current database transaction is committed; outside of one, at once."""

    async def apush_on_commit(self) -> TaskHandle[Result]:
        """The async form of `push_on_commit`."""
        return await sync_to_async(self.push_on_commit)()


class Signature(Part[Result]):
    """One call of a task, as `task.s()` makes it. Its type has the task's result: `Signature[int]`."""

    kind = "task"

    def __init__(
        self,
        task: Task[Any, Any, Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        *,
        ignores_previous: bool = False,
    ) -> None:
        self.task, self.args, self.kwargs = task, tuple(args), dict(kwargs)
        self.name = task.name
        self.ignores_previous = ignores_previous

    def __repr__(self) -> str:
        given = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs.items())]
        return f"{self.name}.{'si' if self.ignores_previous else 's'}({', '.join(given)})"

    def push(self) -> TaskHandle[Result]:
        """Push this call to a worker."""
        return self.task.push(*self.args, **self.kwargs)

    async def apush(self) -> TaskHandle[Result]:
        """The async form of `push`."""
        return await self.task.apush(*self.args, **self.kwargs)

    def push_on_commit(self) -> TaskHandle[Result]:
        """Push it once the current database transaction is committed; outside of one, at once."""
        return self.task.push_on_commit(*self.args, **self.kwargs)

    def si(self) -> Self:
        """The same call, without the result of the part before it."""
        return self._with(self.task, ignores_previous=True)

    def using(self, **options: Any) -> Self:
        """The same call with other options of its task."""
        return self._with(self.task.using(**options), ignores_previous=self.ignores_previous)

    def postponed(self, delay: Delay | None) -> Self:
        """The same call with a delay for its push; None: its task's own delay. Raises BadOption."""
        return self._with(self.task.postponed(delay), ignores_previous=self.ignores_previous)

    def descending(self, root: str, under: LeaseRef, meta: bytes) -> Self:
        """The same call, pushed as a descendant of the task `root` under the lease of a running task."""
        return self._with(self.task.descending(root, under, meta), ignores_previous=self.ignores_previous)

    def _with(self, task: Task[Any, Any, Any], *, ignores_previous: bool) -> Self:
        return type(self)(task, self.args, self.kwargs, ignores_previous=ignores_previous)


class Composite(Part[Result]):
    """A chain, whose parts run one after the other, or a group, whose parts run side by side."""

    is_template = False

    def __init__(self, kind: str, parts: Sequence[Part], *, name: str = "", on_failure: str = "fail") -> None:
        self.kind, self.name, self.on_failure = kind, name or kind, on_failure
        self.parts = tuple(parts)
        self.options = Options()
        self.own_pool = False
        for part in self.parts:
            if not isinstance(part, Part):
                raise NoPart(value=repr(part)[:100], name=self.name, advice=PART_ADVICE)
        if on_failure not in POLICIES:
            raise BadOption(name="on_failure", value=on_failure, expected=f"one of {', '.join(POLICIES)}")

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(repr, self.parts))})"

    def expanded(self) -> Composite[Result]:
        """The composite itself, once its parts are known."""
        return self

    def arguments(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The arguments of its template, for its record."""
        return (), {}

    def si(self) -> Self:
        """The same composite, without the result of the part before it."""
        return self._with(ignores_previous=True)

    def using(self, **options: Any) -> Self:
        """The same with other options: pool, tags, keep, delay, id, on_conflict, durable, outbox, meta, follow_up.

        `on_conflict` is ignore or reject.
        """
        for name in options:
            if name not in OPTIONS:
                raise unknown_option(name, OPTIONS, f"A {self.kind}")
        if options.get("on_conflict", "ignore") not in ("ignore", "reject"):
            raise BadOption(name="on_conflict", value=options["on_conflict"], expected="ignore or reject")
        return self._with(options=self.options.but(**options), own_pool=self.own_pool or "pool" in options)

    def descending(self, root: str, under: LeaseRef, meta: bytes) -> Self:
        """The same composite, pushed as a descendant of the task `root` under the lease of a running task."""
        return self._with(options=self.options.but_descending(root, under, meta))

    def postponed(self, delay: Delay | None) -> Self:
        """The same composite with a delay for its push; None: its own delay. Raises BadOption."""
        return self._with(options=self.options.postponed(delay))

    def push(self) -> TaskHandle[Result]:
        """Push the whole tree to workers."""
        nodes = self._asked()
        if wait := transactions.to_wait_for(self.name, outbox=self.options.outbox):
            return self._send_after(wait, nodes)
        return self._send(nodes)

    def push_on_commit(self) -> TaskHandle[Result]:
        """Push it once the current database transaction is committed; outside of one, at once."""
        return self._send_after(transactions.at_commit(self.name, self.options.outbox), self._asked())

    def nodes(self) -> list[Node]:
        """The nodes of the tree, from the root down; all checks are made here."""
        from queueops.kinds.composites.flatten import nodes_of

        return nodes_of(self)

    def _asked(self) -> list[Node]:
        """The nodes to push, with the metadata that the middlewares add."""
        nodes = self.nodes()
        push_hooks.before(nodes[0].push, (node.push for node in nodes[1:]))
        return nodes

    def _send_after(self, wait: transactions.Wait, nodes: list[Node]) -> TaskHandle[Result]:
        wait.leave(partial(self._send, nodes), lambda: [kept_tree(nodes, durable=self.options.durable)])
        return TaskHandle(nodes[0].push.id, nodes[0].push.pool)

    def _send(self, nodes: list[Node]) -> TaskHandle[Result]:
        root = nodes[0].push
        store, options = get_composite_store(), self.options
        pushed = stand_in.resolved(nodes, lambda: store.plant(nodes, durable=options.durable, under=options.under))
        if pushed.word == "REJECTED":
            record = brokers.get_broker().record(root.pool, root.id)
            raise IdInUse(id=root.id, state=record.state if record else "gone")
        handle: TaskHandle[Result] = TaskHandle(root.id, root.pool, pushed.word, pushed.uid)
        push_hooks.after(handle, root)
        return handle

    def _with(self, **changes: Any) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **changes)
        return other


@overload
def chain(*parts: *tuple[*tuple[Part, ...], Part[_Last]]) -> Composite[_Last]: ...
@overload
def chain(*parts: Part | Iterable[Part]) -> Composite: ...
def chain(*parts: Any) -> Composite:  # type: ignore[misc]  # mypy takes the unpacked tuple for a single parameter
    """A chain: tasks run one after the other, each with the previous result as its first argument.

    Instead of the parts, one list or another iterable of them may be given.
    """
    return Composite("chain", _listed(parts))


def group(*parts: Part | Iterable[Part], on_failure: str = "fail") -> Composite[list[Any]]:
    """A group: tasks run side by side; its result is the list of their results, in order.

    Instead of the parts, one list of them may be given. `on_failure`: "fail" cancels the others when one fails;
    "continue" lets them end first. "outcomes" never fails: its result is a list of {"state": ..., "result": ...} or
    {"state": ..., "error": ..., "reason": ...}.
    """
    return Composite("group", _listed(parts), on_failure=on_failure)


def _listed(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The parts; one list in their place is unpacked."""
    alone = parts[0] if len(parts) == 1 else None
    return tuple(alone) if isinstance(alone, Iterable) and not isinstance(alone, (str, bytes, Part)) else parts


def _links(part: Part) -> Iterator[Part]:
    """The parts of a plain chain, so that `a | b | c` is one chain of three."""
    if type(part) is not Composite or part.kind != "chain" or part.ignores_previous:
        return iter((part,))
    return iter((part,) if part.own_pool or part.options != Options() else part.parts)
