"""Task context: what a running task knows about its own execution, through `current()`.

A context belongs to one start of one task. The worker makes it, runs the task in it, and receives its messages.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from queueops.errors import BadOption, Cancelled, Interrupt, OutsideTask, Restart
from queueops.model import kinds
from queueops.model.contracts import Lease, LeaseRef
from queueops.model.durations import Delay, signed_ms, to_ms
from queueops.model.ports import Handler
from queueops.model.reasons import kept
from queueops.results import waiting
from queueops.tasks.metadata import decode_meta

if TYPE_CHECKING:
    from queueops.results.handle import TaskHandle


_MOST = 1e18
_adding = threading.Lock()
"""Guards `progress_add`: a task may continue in several threads."""


class Channel(Protocol):
    """What a running task can send to its worker. Called from the task's thread or event loop; must not block."""

    def progress(self, lease: Lease, done: float, total: float | None) -> None:
        """Report this progress soon; of several reports in a short time only the last one is sent."""

    def log(self, lease: Lease, text: str) -> None:
        """Add a line to the task's log."""

    def extend(self, lease: Lease, seconds: float) -> None:
        """Move the task's time limit by this much; a negative number makes it earlier."""

    def set_deadline(self, lease: Lease, seconds: float) -> None:
        """Set the task's time limit to this many seconds from now."""


class Context:
    """One start of a task, as its code sees it."""

    __slots__ = (
        "_channel",
        "_done",
        "_reason",
        "added",
        "epoch",
        "handler",
        "interrupt",
        "lease",
        "limit_s",
        "lost",
        "observed",
    )
    interrupt: type[Interrupt]
    """The class of the interrupt that was sent; unset before."""
    observed: Any
    """What an observer keeps until the end of the task; unset before."""

    def __init__(self, lease: Lease, handler: Handler, channel: Channel, epoch: int = 0) -> None:
        self.lease = lease
        self.epoch = epoch  # of the worker process when it claimed the task
        self.handler = handler
        self._channel = channel
        self._reason: str | None = None
        self.lost = False
        self._done: float = 0
        self.added: dict[str, set[int]] = {}  # numbers of the parts of each content that this start has added
        self.limit_s = None if lease.timeout_ms is None else lease.timeout_ms / 1000

    @property
    def id(self) -> str:
        """The task's id."""
        return self.lease.id

    @property
    def attempt(self) -> int:
        """Which attempt this is; the first one is 1."""
        return self.lease.attempt

    @property
    def task(self) -> Any:
        """The running task object; for kinds without one, the handler."""
        return getattr(self.handler, "task", self.handler)

    @property
    def pool(self) -> str:
        """The pool that the task was pushed to."""
        return self.lease.pool

    @property
    def root(self) -> str:
        """The id of this task's root ancestor; its own if it has none."""
        return self.lease.root or self.lease.id

    @property
    def meta(self) -> dict[str, Any]:
        """The metadata of the task: from its push, and inherited. A copy: changes have no effect."""
        return decode_meta(self.lease.meta)

    @property
    def cancelled(self) -> bool:
        """Whether a cancel was requested; a long task checks this regularly, and calls `cancel()`."""
        return self._reason is not None

    @property
    def cancel_requested(self) -> bool:
        """Whether an operator or code requested a cancel. False for a lost lease, because the task runs again."""
        return self._reason is not None and not self.lost

    @property
    def cancel_reason(self) -> str:
        """The reason of the requested cancel; empty without one."""
        return self._reason or ""

    def progress(self, done: float, total: float | None = None) -> None:
        """Report how far the task has come; of many calls in a short time only the last one is stored.

        Both are numbers of at least 0; an unknown `total` is None. Raises BadOption.
        """
        _check_amount("done", done)
        if total is not None:
            _check_amount("total", total)
        with _adding:
            self._channel.progress(self.lease, done, total)
            self._done = done

    def progress_add(self, amount: float) -> None:
        """Add this much to the last reported progress; may be negative. Raises BadOption, also for a sum below 0."""
        with _adding:
            done = self._done + _checked_step(amount, self._done)
            self._channel.progress(self.lease, done, None)
            self._done = done

    def log(self, text: object) -> None:
        """Add a line to the task's log, of which the last 100 are kept."""
        self._channel.log(self.lease, str(text))

    def extend(self, seconds: float | timedelta) -> None:
        """Move the time limit by this many seconds; a negative number makes it earlier.

        No effect without a timeout. Raises BadOption.
        """
        self._channel.extend(self.lease, signed_ms("seconds", seconds) / 1000)

    def set_deadline(self, seconds: float | timedelta) -> None:
        """Set this start's time limit to this many seconds from now, whatever its timeout was. Raises BadOption."""
        self._channel.set_deadline(self.lease, to_ms("seconds", seconds) / 1000)

    def restart(self, delay: float | timedelta = 0, count_attempt: bool = False) -> NoReturn:
        """End this start and start again after `delay` seconds; this counts as an attempt only with `count_attempt`."""
        raise Restart(seconds=to_ms("delay", delay) / 1000, counted=count_attempt)

    def cancel(self, reason: str = "") -> NoReturn:
        """End this task here as cancelled; the first 500 characters of the reason are kept."""
        raise Cancelled(reason=kept(reason or self.cancel_reason))

    def push(self, task: Any, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """Push another task with the same root: a task or a class with its arguments, or a part.

        A part is `task.s(1)`, a chain or a group. Raises what every push raises, and BadOption for other objects.

        The push is made under this task's lease: it raises LeaseLost if this start has lost it.
        """
        handle: TaskHandle[Any] = self._descendant(task, args, kwargs).push()
        return handle

    async def apush(self, task: Any, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """The same in an async task."""
        handle: TaskHandle[Any] = await self._descendant(task, args, kwargs).apush()
        return handle

    def postpone(self, delay: Delay | None, task: Any, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """The same as `push`, not before `delay`: seconds, a `timedelta`, or an aware datetime; None: its own delay."""
        handle: TaskHandle[Any] = self._descendant(task, args, kwargs).postponed(delay).push()
        return handle

    async def apostpone(self, delay: Delay | None, task: Any, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
        """The same in an async task."""
        handle: TaskHandle[Any] = await self._descendant(task, args, kwargs).postponed(delay).apush()
        return handle

    def push_many(self, task: Any, calls: Iterable[Sequence[Any]]) -> list[TaskHandle[Any]]:
        """The same for many calls of one task or class, in the form of a task's `push_many`."""
        if not hasattr(task, "push_many"):
            raise BadOption(name="task", value=task, expected="a task or a class, whose calls follow as a list")
        one: Any = getattr(task, "task", None) if isinstance(task, type) else task
        handles: list[TaskHandle[Any]] = one.descending(self.root, self._held, self.lease.meta).push_many(calls)
        return handles

    def add(self, *parts: Any) -> list[TaskHandle[Any]]:
        """Add parts to the running group that this task is part of: calls such as `task.s(1)`, chains and groups.

        They begin at once, stand behind the group's other parts, and the group waits for them. All are added, or none.
        If the task runs again, what it adds again is the same part. Raises LeaseLost if this start has lost its lease,
        GroupEnded, NotInGroup, BadOption for a part of another pool, and what a push raises.
        """
        handles: list[TaskHandle[Any]] = kinds.only("tree.add")(self, parts)
        return handles

    async def aadd(self, *parts: Any) -> list[TaskHandle[Any]]:
        """The same in an async task."""
        return await waiting.in_thread(partial(self.add, *parts))

    def ask_to_cancel(self, reason: str, *, lost: bool = False) -> None:
        """Set `cancelled`; called by the worker, from any thread.

        ``lost``: no cancel was requested, but another worker may have the lease by now. The task has not ended.
        """
        self._reason, self.lost = reason, lost

    def _descendant(self, task: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The part to push."""
        part = task.s(*args, **kwargs) if hasattr(task, "s") else task
        if not hasattr(part, "descending") or (part is task and (args or kwargs)):
            expected = "a task or a class with its arguments, or a part without any: task.s(1), a chain, a group"
            raise BadOption(name="task", value=task, expected=expected)
        return part.descending(self.root, self._held, self.lease.meta)

    @property
    def _held(self) -> LeaseRef:
        return LeaseRef(self.lease.pool, self.lease.id, self.lease.fence)


def _checked_step(amount: object, done: float) -> float:
    if isinstance(amount, bool) or not isinstance(amount, (int, float)) or not 0 <= done + amount <= _MOST:
        expected = f"a number that makes {done:g} another one from 0 to 1e18"
        raise BadOption(name="amount", value=amount, expected=expected)
    return amount


def _check_amount(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MOST:
        raise BadOption(name=name, value=value, expected="a number from 0 to 1e18, and no infinity")


_running: ContextVar[Context | None] = ContextVar("queueops_context", default=None)
enter = _running.set
leave = _running.reset
running = _running.get
"""The context of the task that runs here; None outside of tasks."""


def current() -> Context:
    """The context of the task that runs here. Raises OutsideTask."""
    if (context := running()) is None:
        raise OutsideTask(what="current()")
    return context


def held() -> LeaseRef | None:
    """The lease of the task that runs here, for what it begins; None outside of tasks, and in a test environment."""
    context = running()
    return context._held if context is not None and context.lease.fence else None
