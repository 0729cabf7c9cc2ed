"""Workflow definition: `@workflow` makes an async function a workflow, `@activity` makes a function a task."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, ParamSpec, Protocol, TypeVar, Unpack, cast, get_args, overload

from asgiref.sync import sync_to_async

from queueops.errors import BadOption
from queueops.errors.workflows import BadWorkflow, InstanceGone
from queueops.kinds.workflows import events
from queueops.kinds.workflows import wf as wf
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.kinds.workflows.outbox import kept_run
from queueops.kinds.workflows.replay import tracing
from queueops.kinds.workflows.replay.execution import Execution
from queueops.kinds.workflows.replay.step import OnParentEnd, RunInfo
from queueops.kinds.workflows.store.run_store import get_run_store
from queueops.model import observers
from queueops.model.contracts import Conflict, Push
from queueops.model.ids import check_id, new_id
from queueops.redis import broker as brokers
from queueops.results import waiting
from queueops.results.types import ResultType
from queueops.tasks import discovery, push_hooks, registry, transactions
from queueops.tasks.class_based import place_of
from queueops.tasks.context import Context, held
from queueops.tasks.decorator import default_name
from queueops.tasks.decorator import task as activity
from queueops.tasks.handlers import FunctionHandler
from queueops.tasks.options import UNSET, Options, PushOptions, schedule_of
from queueops.tasks.task import Task
from queueops.tasks.unique_id import Unique, UniqueId

if TYPE_CHECKING:
    from queueops.schedules.schedule import Schedule
    from queueops.tasks.follow_up import Call, FollowUpOutcome

__all__ = ["Workflow", "activity", "wf", "workflow"]

STEP_SECONDS = 60
"""Time limit of one decision step, unless the workflow or its pool has another."""
OPTIONS = ("pool", "lane", "priority", "tags", "keep", "timeout", "durable", "meta", "follow_up", "on_conflict")
CONFLICTS = (Conflict.REJECT, Conflict.IGNORE)

P = ParamSpec("P")
R = TypeVar("R")


class WorkflowHandler(FunctionHandler):
    """Makes the decision steps of a workflow: see `queueops.kinds.workflows.steps`."""

    kind = "workflow"
    makes_spans = True

    @functools.cached_property
    def result_type(self) -> ResultType:
        """The type of a run's result."""
        return ResultType.of(self.func, self.name)

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of the source of the workflow's function; without a source, of its bytecode."""
        try:
            text = inspect.getsource(self.func).encode()
        except (OSError, TypeError):  # such as code of an interactive session
            text = self.func.__code__.co_code
        return events.digest(text)

    def changed_since(self, mark: bytes) -> bool:
        """Whether the source is not that of the step which this mark, the first of a history, has begun."""
        recorded = events.decode(mark).arguments_digest
        return bool(recorded) and recorded != self.fingerprint

    def run(self, context: Context) -> Any:
        """Make one decision step."""
        from queueops.kinds.workflows.steps import make_step  # workers alone need it

        return make_step(context, self.execution)

    is_result_open = True  # a step, which the store reads: it seals what is of the user

    def words_of_success(self, value: Any) -> str:
        """What a step did, for the log of the worker."""
        from queueops.kinds.workflows.steps import words_of

        return words_of(value)

    def encode_result(self, name: str, value: Any) -> bytes:
        """A step as the store reads it."""
        from queueops.kinds.workflows.steps import encoded

        return encoded(value)

    def execution(self, info: RunInfo, arguments: bytes) -> Execution:
        """A run in memory, at its beginning. Raises BadArguments and NotDecodable."""
        args, kwargs = self.plan.decode(arguments)
        return Execution(info, _Code(self, args, kwargs))


class _Code:
    """The code of a workflow, with the arguments of one run."""

    def __init__(self, handler: WorkflowHandler, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self._handler = handler
        self.begin: Callable[[], Coroutine[Any, Any, Any]] = partial(handler.func, *args, **kwargs)

    @property
    def fingerprint(self) -> str:
        """A digest of the source."""
        return self._handler.fingerprint

    def encode(self, args: Sequence[Any], kwargs: dict[str, Any]) -> bytes:
        """The checked arguments of the next run."""
        return self._handler.plan.encode(args, kwargs)

    def encode_result(self, value: Any) -> bytes:
        """What the code returned, checked by its annotation."""
        return self._handler.result_type.encode(self._handler.name, value)


class Workflow(Task[P, Coroutine[Any, Any, R], R]):
    """An async function as a workflow. `start` begins a run, whose decision steps workers make.

    `push`, `s` and a cron begin runs, too: a workflow can be part of a chain or a group.
    """

    is_plain: ClassVar[Literal[False]] = False  # type: ignore[assignment]  # `wf.call` refuses it
    """`wf.child` takes it."""
    on_parent_end: OnParentEnd = "cancel"

    def __repr__(self) -> str:
        return f"<Workflow {self.name}>"

    @overload
    def start(self, /, *args: P.args, **kwargs: P.kwargs) -> WorkflowHandle[R]: ...
    @overload
    def start(self, /, *args: Any, id: str, **kwargs: Any) -> WorkflowHandle[R]: ...
    def start(self, /, *args: Any, **kwargs: Any) -> WorkflowHandle[R]:
        """Begin a run. `id` or `using(id=...)` names its instance, which has one run at a time.

        A function with an argument `id` gets that as its own. Raises InstanceInUse, or gives the handle of that run
        with on_conflict="ignore". Raises what a push raises, and LeaseLost in a task that has lost its lease.
        """
        push, instance = self._traced(args, kwargs)
        return self._start(push, instance)

    @overload
    async def astart(self, /, *args: P.args, **kwargs: P.kwargs) -> WorkflowHandle[R]: ...
    @overload
    async def astart(self, /, *args: Any, id: str, **kwargs: Any) -> WorkflowHandle[R]: ...
    async def astart(self, /, *args: Any, **kwargs: Any) -> WorkflowHandle[R]:
        """The same for async code."""
        push, instance = self._traced(args, kwargs)
        return await transactions.in_thread(partial(self._start, push, instance))

    @overload
    def start_on_commit(self, /, *args: P.args, **kwargs: P.kwargs) -> WorkflowHandle[R]: ...
    @overload
    def start_on_commit(self, /, *args: Any, id: str, **kwargs: Any) -> WorkflowHandle[R]: ...
    def start_on_commit(self, /, *args: Any, **kwargs: Any) -> WorkflowHandle[R]:
        """Begin a run once the current database transaction is committed; outside of one, at once."""
        push, instance = self._traced(args, kwargs)
        return self._begin_after(transactions.at_commit(self.name, self.options.outbox), push, instance)

    @overload
    async def astart_on_commit(self, /, *args: P.args, **kwargs: P.kwargs) -> WorkflowHandle[R]: ...
    @overload
    async def astart_on_commit(self, /, *args: Any, id: str, **kwargs: Any) -> WorkflowHandle[R]: ...
    async def astart_on_commit(self, /, *args: Any, **kwargs: Any) -> WorkflowHandle[R]:
        """The same for async code."""
        return await sync_to_async(self.start_on_commit)(*args, **kwargs)

    def handle(self, instance: str) -> WorkflowHandle[R]:
        """A handle that means the newest run of an instance, also later. Raises InstanceGone."""
        pool = self.options.pool
        run = get_run_store().newest_run(pool, check_id(instance, "id of an instance"))
        if run is None:
            raise InstanceGone(id=instance)
        return WorkflowHandle(run, pool, instance=instance, newest=True)

    async def ahandle(self, instance: str) -> WorkflowHandle[R]:
        """The same for async code."""
        return await waiting.in_thread(partial(self.handle, instance))

    def _start(self, push: Push, instance: str) -> WorkflowHandle[R]:
        """Begin now, or after the caller's transaction, as a push does."""
        if wait := transactions.to_wait_for(self.name, outbox=self.options.outbox):
            return self._begin_after(wait, push, instance)
        return self._begin(push, instance)

    def _begin_after(self, wait: transactions.Wait, push: Push, instance: str) -> WorkflowHandle[R]:
        options = self.options
        ignores = options.on_conflict is Conflict.IGNORE
        newest = wait.by_outbox and ignores and bool(instance)  # the run may be one that the instance has already
        handle: WorkflowHandle[R] = WorkflowHandle(push.id, push.pool, instance=instance, newest=newest)
        send = partial(self._begin_for, handle, push, instance)
        wait.leave(send, lambda: kept_run(push, instance, ignores=ignores, durable=options.durable))
        return handle

    def _begin_for(self, handle: WorkflowHandle[R], push: Push, instance: str) -> None:
        """Begin after the commit. The run that the handle means may be one that the instance has already."""
        begun = self._begin(push, instance)
        handle.id, handle.word, handle.uid = begun.id, begun.word, begun.uid

    def _begin(self, push: Push, instance: str) -> WorkflowHandle[R]:
        durable, under = self.options.durable, self.options.under or held()
        if not instance:
            (pushed,) = brokers.get_broker().push((push,), durable=durable, under=under)
            begun: WorkflowHandle[R] = WorkflowHandle(push.id, push.pool, pushed.word, pushed.uid)
            push_hooks.after(begun, push)
            return begun
        ignores = self.options.on_conflict is Conflict.IGNORE
        with observers.publishing((push,)):
            word, run = get_run_store().start_run(instance, push, ignores=ignores, durable=durable, under=under)
        handle: WorkflowHandle[R] = WorkflowHandle(run, push.pool, word, instance=instance)
        push_hooks.after(handle, push)
        return handle

    def using(self, *, on_parent_end: OnParentEnd | None = None, **options: Unpack[PushOptions]) -> Workflow[P, R]:
        """The same workflow with other options; `id` names the instance. `on_conflict` is reject or ignore.

        `on_parent_end` is what becomes of it as a child that its parent does not need any more, because that has ended,
        continues as new, or is cancelled while it waits: "cancel" asks its code to end, "terminate" ends it at once,
        and "abandon" lets it go on.
        """
        other = cast("Workflow[P, R]", super().using(**options))
        if on_parent_end is not None:
            other.on_parent_end = _checked_end(on_parent_end)
        if "on_conflict" in options:
            _check_conflict(other.options)
        return other

    def decode(self, data: bytes) -> R:
        """A stored result, converted by the return annotation. Raises BadResult."""
        return cast(R, self.handler.result_type.decode(data))

    def _traced(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Push, str]:
        """The push of a run that begins here, with the trace context of its caller."""
        push, instance = self.as_child(args, kwargs)
        push.trace = tracing.started(self.name, instance or push.id)
        return push_hooks.before(push), instance

    def as_child(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Push, str]:
        """The push of a run, and its instance id ('' without one)."""
        if "id" in kwargs and not self._takes_id:
            others = {name: value for name, value in kwargs.items() if name != "id"}
            return self.using(id=kwargs["id"]).as_child(args, others)
        push = super()._made(args, kwargs)
        push.kind = self.handler.kind
        if not self._names_instance:
            return push, ""
        instance, push.id, push.conflict = push.id, new_id(), Conflict.NEW  # each run has an id of its own
        return push, instance

    def planned(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Push:
        """The push of one run as data. Raises BadOption if it names an instance."""
        self._check_nameless()
        return super().planned(args, kwargs)

    def _made(self, args: Sequence[Any], kwargs: dict[str, Any], *, after: bool = False) -> Push:
        self._check_nameless()
        push = super()._made(args, kwargs, after=after)
        push.kind = self.handler.kind
        return push

    def _check_nameless(self) -> None:
        if self._names_instance:
            expected = "left to start() and wf.child(): a push, a part of a chain and a cron begin runs without a name"
            raise BadOption(name="id", value=self.options.id or "unique=", expected=expected)

    @property
    def _takes_id(self) -> bool:
        """Whether an argument of the function has this name."""
        parameters = self.handler.plan.signature.parameters
        return "id" in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values())

    @property
    def _names_instance(self) -> bool:
        return self.options.id is not None or self.unique is not None


class Decorator(Protocol):
    """Makes a workflow from a function."""

    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Workflow[P, R]: ...


@overload
def workflow(function: Callable[P, Coroutine[Any, Any, R]], /) -> Workflow[P, R]: ...
@overload
def workflow(
    *,
    name: str | None = None,
    pool: str = "default",
    lane: str | None = None,
    priority: int = 0,
    timeout: float | timedelta | None = STEP_SECONDS,
    unique: Unique | None = None,
    cron: str | Schedule | None = None,
    tags: Iterable[str] = (),
    keep: float | timedelta | None = None,
    on_conflict: Literal["reject", "ignore"] = "reject",
    durable: bool = False,
    meta: Mapping[str, Any] | None = None,
    follow_up: Mapping[FollowUpOutcome, Call | Iterable[Call]] | None = None,
) -> Decorator: ...
def workflow(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make an `async def` a workflow. All options are optional.

    name: by default the function's module and name. pool, lane, priority, tags, keep, durable, meta, follow_up: as of a
    task. timeout: seconds for one decision step (60). on_conflict: what a start does whose instance has a run that has
    not ended: "reject" or "ignore", which gives that run. unique: names the instance by the arguments, as of a task.
    cron: when it starts by itself, not together with unique.
    """
    if function is not None:
        return _made(function, options)
    return partial(_made, options=options)


def _checked_end(value: Any) -> OnParentEnd:
    if value not in get_args(OnParentEnd):
        raise BadOption(name="on_parent_end", value=value, expected='"cancel", "terminate" or "abandon"')
    return cast("OnParentEnd", value)


def _check_conflict(options: Options) -> None:
    if options.on_conflict not in CONFLICTS:
        expected = '"reject" or "ignore": a run is not replaced; end it with terminate(), and start another one'
        raise BadOption(name="on_conflict", value=str(options.on_conflict), expected=expected)


def _made(function: Callable[..., Any], options: dict[str, Any]) -> Workflow[..., Any]:
    if not inspect.iscoroutinefunction(function):
        raise BadWorkflow(reason=f'@workflow was given {function!r}. Put it directly above an "async def".')
    own = dict(options)
    given, schedule = own.pop("name", None), schedule_of(own.pop("cron", None))
    unique = own.pop("unique", None)
    if unique is not None and schedule is not None:
        raise BadOption(name="unique", value=unique, expected="left out with cron: its runs have no names")
    for option in own:
        if option not in OPTIONS:
            raise BadOption(
                name=option, value=own[option], expected=f"one of {', '.join(OPTIONS)}, name, unique and cron"
            )
    name = check_id(given or default_name(function), "name of a workflow")
    handler = WorkflowHandler(function, name, ())
    options_of_all = {"retries": 0, "on_conflict": "reject", **own}
    if options_of_all.get("timeout", UNSET) is UNSET:
        options_of_all["timeout"] = STEP_SECONDS
    names = None if unique is None else UniqueId(unique, function)
    chosen = Options().but(**options_of_all)
    _check_conflict(chosen)
    made: Workflow[..., Any] = Workflow(handler, chosen, names, schedule)
    made.hidden = discovery.hidden(function, named=given is not None)
    handler.task = made
    registry.register(handler, place_of(cast(Any, function)))
    return made
