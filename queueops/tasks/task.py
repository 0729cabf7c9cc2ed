"""Task object: a function that a producer can push."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Concatenate,
    Generic,
    Literal,
    NoReturn,
    ParamSpec,
    TypeVar,
    Unpack,
    overload,
)

from asgiref.sync import sync_to_async

from queueops import conf
from queueops.errors import BadOption, IdInUse
from queueops.errors.tasks import BadTask
from queueops.model import kinds
from queueops.model.contracts import Conflict, LeaseRef, Push, Pushed
from queueops.model.durations import Delay
from queueops.model.ids import new_id
from queueops.redis import broker as brokers
from queueops.results.handle import TaskHandle
from queueops.tasks import discovery, limited, outbox, push_hooks, transactions
from queueops.tasks.foreign_names import TASK_METHODS, missing_attribute
from queueops.tasks.handlers import FunctionHandler
from queueops.tasks.limit_key import LimitKey
from queueops.tasks.options import OF_IDS, Options, PushOptions
from queueops.tasks.pipelined_push import PipelinedPush, batches, call_of
from queueops.tasks.unique_id import UniqueId

if TYPE_CHECKING:
    from queueops.kinds.composites.parts import Signature
    from queueops.schedules.schedule import Schedule

Params = ParamSpec("Params")
Returned = TypeVar("Returned")
Result = TypeVar("Result")
Later = ParamSpec("Later")


class Task(Generic[Params, Returned, Result]):
    """A function as a task. A call runs the function here and now; `push` and its variants leave it to a worker.

    `Returned` is the result of a call (a coroutine, for an async function), `Result` that of a handle's `result()`.

    Every push checks the arguments and raises BadArguments, NotEncodable, PayloadTooLarge, BadId, IdInUse
    (on_conflict="reject"), DurabilityUnsupported or StoreFull; then nothing was pushed. After BrokerUnavailable, the
    task may have been pushed, and only the reply was lost. After NotDurable (durable=True), it has been pushed, but the
    store did not confirm that it is on disk.
    """

    is_plain: ClassVar[Literal[True]] = True
    """That it is a plain task, for type checkers. A subclass whose record is another one says False."""

    def __init__(
        self,
        handler: FunctionHandler,
        options: Options,
        unique: UniqueId | None = None,
        schedule: Schedule | None = None,
        limit_key: LimitKey | None = None,
    ) -> None:
        functools.update_wrapper(self, handler.func)
        self.name = handler.name
        self.handler = handler
        self.options = options
        self.unique = unique
        self.limit_key = limit_key
        self.schedule = schedule
        self.hidden: discovery.Hidden | None = None
        self._settings: conf.Settings | None = None
        self._fields: dict[str, Any] = {}
        self._needs_key = False

    def __repr__(self) -> str:
        return f"<Task {self.name}>"

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name):
            """Raise an error that names the replacement for another task queue's method."""
            raise missing_attribute(self, name, vars(self).get("__name__", "task"), TASK_METHODS)

    def __call__(self, /, *args: Params.args, **kwargs: Params.kwargs) -> Returned:
        """Run the function here and now, with its dependencies."""
        returned: Returned = self.handler.call(*args, **kwargs)
        return returned

    def push(self, /, *args: Params.args, **kwargs: Params.kwargs) -> TaskHandle[Result]:
        """Leave this call to a worker."""
        return self._send(push_hooks.before(self._made(args, kwargs)))

    async def apush(self, /, *args: Params.args, **kwargs: Params.kwargs) -> TaskHandle[Result]:
        """The same for async code."""
        return await transactions.in_thread(functools.partial(self._send, push_hooks.before(self._made(args, kwargs))))

    def postpone(
        self, delay: Delay | None = None, /, *args: Params.args, **kwargs: Params.kwargs
    ) -> TaskHandle[Result]:
        """Leave this call to a worker, not before `delay`: seconds, a `timedelta`, or an aware datetime.

        With None, the task's own `delay` is used. Raises BadOption if there is none.
        """
        return self.postponed(delay).push(*args, **kwargs)

    async def apostpone(
        self, delay: Delay | None = None, /, *args: Params.args, **kwargs: Params.kwargs
    ) -> TaskHandle[Result]:
        """The same for async code."""
        return await self.postponed(delay).apush(*args, **kwargs)

    def push_many(self, calls: Iterable[Sequence[Any]]) -> list[TaskHandle[Result]]:
        """Leave many calls to workers: each is a tuple of arguments, or `((arguments), {named arguments})`.

        They are read from the iterable and sent in batches of 500. If a call is invalid, the batches before it have
        already been pushed. Notes on the error say how many calls that are, and which call is invalid.
        """
        self._check_many(calls)
        if wait := transactions.to_wait_for(self.name, outbox=self.options.outbox):
            return self._send_many_after(wait, calls)
        handles: list[TaskHandle[Result]] = []
        made = 0
        with PipelinedPush(self.options.pool, self.options.durable, self.options.under) as pipeline:
            try:
                for batch in batches(calls):
                    landed = pipeline.send(self._made_batch(batch, made + 1))
                    made += len(batch)
                    handles += [self._handle(push, pushed) for push, pushed in landed]
                handles += [self._handle(push, pushed) for push, pushed in pipeline.receive()]
            except Exception as error:  # only to add how many calls were pushed
                pipeline.explain(error, len(handles))
                raise
        return handles

    async def apush_many(self, calls: Iterable[Sequence[Any]]) -> list[TaskHandle[Result]]:
        """The same for async code."""
        return await transactions.in_thread(functools.partial(self.push_many, calls))

    def push_on_commit(self, /, *args: Params.args, **kwargs: Params.kwargs) -> TaskHandle[Result]:
        """Leave this call to a worker once the current database transaction is committed; outside of one, at once.

        The arguments are taken as they are now. Until the commit, and for ever after a rollback, the handle's status is
        None.
        """
        push = push_hooks.before(self._made(args, kwargs))
        return self._send_after(transactions.at_commit(self.name, self.options.outbox), push)

    async def apush_on_commit(self, /, *args: Params.args, **kwargs: Params.kwargs) -> TaskHandle[Result]:
        """The same for async code."""
        return await sync_to_async(self.push_on_commit)(*args, **kwargs)

    def push_many_on_commit(self, calls: Iterable[Sequence[Any]]) -> list[TaskHandle[Result]]:
        """Leave many calls to workers once the current transaction is committed; outside of one, at once.

        All of them are read, checked and kept in memory now. If a call is invalid, none of them is pushed at the
        commit.
        """
        self._check_many(calls)
        return self._send_many_after(transactions.at_commit(self.name, self.options.outbox), calls)

    async def apush_many_on_commit(self, calls: Iterable[Sequence[Any]]) -> list[TaskHandle[Result]]:
        """The same for async code."""
        return await sync_to_async(self.push_many_on_commit)(calls)

    @overload
    def s(self, /, *args: Params.args, **kwargs: Params.kwargs) -> Signature[Result]: ...
    @overload
    def s(
        self: Task[Concatenate[Any, Later], Returned, Result], /, *args: Later.args, **kwargs: Later.kwargs
    ) -> Signature[Result]: ...
    def s(self, /, *args: Any, **kwargs: Any) -> Signature[Result]:
        """Make this call a part of a chain or group: in a chain, its first argument is the previous result."""
        part: Signature[Result] = kinds.only("tree.part")(self, args, kwargs)
        return part

    def si(self, /, *args: Params.args, **kwargs: Params.kwargs) -> Signature[Result]:
        """The same, but without the previous result."""
        part: Signature[Result] = kinds.only("tree.part")(self, args, kwargs, ignores_previous=True)
        return part

    def as_part(self, args: Sequence[Any], kwargs: dict[str, Any], *, after: bool) -> Push:
        """The push of one call within a composite; `after`: its first argument is the result of another task."""
        return self._made(args, kwargs, after=after)

    def using(self, **options: Unpack[PushOptions]) -> Task[Params, Returned, Result]:
        """The same task with other options, for this caller.

        Options: pool, lane, priority, retries, retry, timeout, tags, keep (seconds), delay, expires (seconds, or a
        moment), limit, rate, unique_for, throttle, debounce (seconds), id, on_conflict (ignore, skip, reject, replace,
        replace_postponed, run_after), durable, meta, follow_up (calls by outcome, pushed at the end).
        """
        return self._with(self.options.but(**options))

    def postponed(self, delay: Delay | None) -> Task[Params, Returned, Result]:
        """The same task, whose pushes wait for `delay`; None means the task's own. Raises BadOption."""
        return self._with(self.options.postponed(delay))

    def descending(self, root: str, under: LeaseRef, meta: bytes) -> Task[Params, Returned, Result]:
        """The same task, pushed as a descendant of the task `root` under the lease of a running task with `meta`."""
        return self._with(self.options.but_descending(root, under, meta))

    def planned(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Push:
        """The push of one call as data, which a schedule makes repeatedly under its own ids."""
        push = self.with_given_ids()._made(args, kwargs)
        push.id, push.token, push.conflict, push.due, push.delay_ms = "", "", Conflict.NEW, None, None
        return push

    def with_given_ids(self) -> Task[Params, Returned, Result]:
        """The same task, whose calls get their ids elsewhere: what its options say of ids does not apply."""
        if self.unique is None and not any(getattr(self.options, name) for name in OF_IDS):
            return self
        other = self._with(self.options.but(**dict.fromkeys(OF_IDS)))
        other.unique = None
        return other

    def _with(self, options: Options) -> Task[Params, Returned, Result]:
        other: Task[Params, Returned, Result] = object.__new__(type(self))  # four times faster than copy.copy
        other.__dict__.update(self.__dict__)
        other.options = options
        other._settings = None
        return other

    def _made(self, args: Sequence[Any], kwargs: dict[str, Any], *, after: bool = False) -> Push:
        """The push of one call, with checked and encoded arguments."""
        if self.hidden is not None:
            discovery.check(self.name, self.hidden)
        plan = self.handler.plan
        data = plan.encode_after(args, kwargs) if after else plan.encode(args, kwargs)
        settings = conf.current()
        if settings is not self._settings:
            self._fields = self.options.push_fields(settings)
            self._settings, self._needs_key = settings, self.options.needs_key
        chosen = self.options.id
        if chosen is None and self.unique is not None:
            chosen = self.unique.of(plan, args, kwargs, after=after)
        if chosen is None:
            push = Push(id=new_id(), name=self.name, args=data, **self._fields)
            push.conflict = Conflict.NEW
        else:
            push = Push(id=chosen, name=self.name, args=data, token=os.urandom(6).hex(), **self._fields)
        if self._needs_key:
            key = limited.key_of(self.limit_key, plan, args, kwargs, after=after)
            self._limit(push, key)
        return push

    def _limit(self, push: Push, key: str | None) -> None:
        """Add to a push with this key what the options say of limits. Raises BadOption."""
        limited.limit(push, self.handler, self.options, key)

    def _made_batch(self, batch: list[Sequence[Any]], first: int) -> list[Push]:
        pushes = []
        for number, call in enumerate(batch, first):
            try:
                pushes.append(push_hooks.before(self._made(*call_of(call, self.name))))
            except Exception as error:  # only to add which call it is
                error.add_note(f"Call number {number} is wrong; the first is number 1.")
                raise
        return pushes

    def _check_many(self, calls: Iterable[Sequence[Any]]) -> None:
        if self.options.id is not None:
            raise BadOption(
                name="id", value=self.options.id, expected="left out of push_many; unique= gives each its own"
            )
        if not isinstance(calls, Iterable):
            raise BadOption(name="calls", value=calls, expected="calls, such as [(1,), (2,)]")

    def _send_many_after(self, wait: transactions.Wait, calls: Iterable[Sequence[Any]]) -> list[TaskHandle[Result]]:
        pushes: list[Push] = []
        for batch in batches(calls):
            pushes += self._made_batch(batch, len(pushes) + 1)
        wait.leave(functools.partial(self._send_many, pushes), functools.partial(self._kept, pushes))
        return [TaskHandle(push.id, push.pool) for push in pushes]

    def _send_many(self, pushes: Sequence[Push]) -> None:
        with PipelinedPush(self.options.pool, self.options.durable, self.options.under) as pipeline:
            for batch in batches(pushes):
                for push, pushed in pipeline.send(batch):
                    self._handle(push, pushed)
            for push, pushed in pipeline.receive():
                self._handle(push, pushed)

    def _send(self, push: Push) -> TaskHandle[Result]:
        """Push now, or after the caller's transaction."""
        if wait := transactions.to_wait_for(self.name, outbox=self.options.outbox):
            return self._send_after(wait, push)
        return self._send_now(push)

    def _send_after(self, wait: transactions.Wait, push: Push) -> TaskHandle[Result]:
        wait.leave(functools.partial(self._send_now, push), functools.partial(self._kept, (push,)))
        return TaskHandle(push.id, push.pool)

    def _kept(self, pushes: Iterable[Push]) -> Iterable[outbox.Kept]:
        return outbox.plain(pushes, durable=self.options.durable)

    def _send_now(self, push: Push) -> TaskHandle[Result]:
        options = self.options
        (pushed,) = brokers.get_broker().push((push,), durable=options.durable, under=options.under)
        return self._handle(push, pushed)

    def _handle(self, push: Push, pushed: Pushed) -> TaskHandle[Result]:
        if pushed.word == "REJECTED":
            record = brokers.get_broker().record(push.pool, push.id)
            raise IdInUse(id=push.id, state=record.state if record else "gone")
        handle: TaskHandle[Result] = TaskHandle(push.id, push.pool, pushed.word, pushed.uid)
        push_hooks.after(handle, push)
        return handle


class _Module(ModuleType):
    """Type of the module. `from queueops.tasks import task` gives the module, and not the decorator."""

    def __call__(self, *args: Any, **options: Any) -> NoReturn:
        """Refuse the use as a decorator. Raises BadTask."""
        raise BadTask(reason="queueops.tasks.task is a module, and not the decorator. Write: from queueops import task")


sys.modules[__name__].__class__ = _Module
