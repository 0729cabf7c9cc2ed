"""What the code of a workflow calls: activities, children, timers, signals, time and randomness.

Each function works only in a workflow, and raises OutsideWorkflow elsewhere. Beside them, `asyncio.gather`,
`TaskGroup`, `timeout`, `Queue`, `Event` and cancellation work as they do everywhere.
"""

from __future__ import annotations

import asyncio
import random as _random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, ClassVar, Literal, NoReturn, ParamSpec, Protocol, TypeVar
from uuid import UUID

from queueops.errors import BadOption
from queueops.errors.workflows import OutsideWorkflow
from queueops.kinds.workflows.arguments import check_name
from queueops.kinds.workflows.replay import cancelling
from queueops.kinds.workflows.replay.digests import digest_of
from queueops.kinds.workflows.replay.execution import Execution
from queueops.kinds.workflows.replay.loop import WorkflowLoop
from queueops.kinds.workflows.replay.step import ContinueAsNew, RunInfo
from queueops.model.contracts import Push
from queueops.model.durations import to_ms
from queueops.model.ids import check_id, check_lane
from queueops.results.handle import TaskHandle
from queueops.tasks.task import Task

__all__ = [
    "call",
    "cancel_waits",
    "child",
    "continue_as_new",
    "info",
    "now",
    "patched",
    "random",
    "send_signal",
    "set_status",
    "side_effect",
    "signal",
    "signals",
    "sleep",
    "span",
    "uuid4",
]

P = ParamSpec("P")
R = TypeVar("R", covariant=True)
V = TypeVar("V")


class Activity(Protocol[P, R]):
    """A task, as `call` needs it. A workflow is none: type checkers refuse it there."""

    is_plain: ClassVar[Literal[True]]

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Any: ...
    def push(self, /, *args: P.args, **kwargs: P.kwargs) -> TaskHandle[R]: ...


class Child(Protocol[P, R]):
    """A workflow, as `child` needs it."""

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Any: ...
    def as_child(self, args: Any, kwargs: dict[str, Any]) -> tuple[Push, str]: ...
    def decode(self, data: bytes) -> R: ...


async def call(activity: Activity[P, V], /, *args: P.args, **kwargs: P.kwargs) -> V:
    """Run an activity, which is any task, in a worker, and return its result.

    Its options are those of the task; others are given by `activity.using(...)`. Attempts, back-off, time limits,
    `limit` and `rate` are the task's. Its `unique`, `unique_for`, `throttle` and `debounce` do not apply: the id is
    that of the run and the number of the call. Raises ActivityFailed when its last attempt failed or it was cancelled,
    BadOption for `using(id=...)`, and what a push raises for wrong arguments. If the code is cancelled while it waits,
    the activity is cancelled.
    """
    execution = current("wf.call()")
    if not isinstance(activity, Task):
        raise BadOption(name="activity", value=activity, expected="a function below @activity or @task")
    if activity.options.id is not None:
        expected = "left out in a workflow: the id of an activity is that of its run and the number of the call"
        raise BadOption(name="id", value=activity.options.id, expected=expected)
    push = activity.with_given_ids().as_part(args, kwargs, after=False)
    if push.kind != "task":
        expected = "a plain task; a workflow is run by wf.child(), and a task may push another kind"
        raise BadOption(name="activity", value=activity, expected=expected)
    return await execution.call(push, digest_of(push.args, args, kwargs), partial(_decoded, activity))


def _decoded(activity: Any, data: bytes) -> Any:
    return activity.handler.result_type.decode(data)


async def child(workflow: Child[P, V], /, *args: P.args, **kwargs: P.kwargs) -> V:
    """Run another workflow as a child, and return its result; `workflow.using(id=...)` names its instance.

    Raises ChildFailed, and of these ChildInUse if its instance has a run that has not ended. If the code is cancelled
    while it waits, or the run ends, the child receives a cancel; `workflow.using(on_parent_end=...)` has other answers.
    """
    execution = current("wf.child()")
    if not hasattr(workflow, "as_child"):
        raise BadOption(name="workflow", value=workflow, expected="a function below @workflow; wf.call() runs a task")
    push, instance = workflow.as_child(args, kwargs)
    ends: Any = getattr(workflow, "on_parent_end", "cancel")
    return await execution.child(push, digest_of(push.args, args, kwargs), instance, workflow.decode, ends)


async def sleep(delay: float | timedelta) -> None:
    """Wait this many seconds. The timer survives restarts of everything."""
    current("wf.sleep()")
    await asyncio.sleep(to_ms("delay", delay) / 1000)


async def signal(name: str) -> Any:
    """Wait for the next signal of a name, and return its payload. Signals that came before are kept, in order."""
    return await current("wf.signal()").signal(check_name(name, "name"))


async def signals(name: str) -> AsyncIterator[Any]:
    """The signals of a name, one after the other, without an end."""
    execution = current("wf.signals()")
    while True:
        yield await execution.signal(check_name(name, "name"))


async def send_signal(instance: str, name: str, value: Any = None, *, pool: str = "") -> bool:
    """Send a signal to another workflow instance. Returns whether it had a run that took it.

    `pool` is that of the instance, if it is not the pool of this run. Raises BadId, BadOption and NotEncodable.
    """
    execution = current("wf.send_signal()")
    to = check_lane(pool, "name of a pool") if pool else ""
    return await execution.tell(check_id(instance, "id of an instance"), name, value, to)


def span(name: str) -> AbstractContextManager[None]:
    """A span of OpenTelemetry around a part of the code, whose calls and timers are its children.

    It is made if the package is installed and the run was started with a tracer; a replay makes it once.
    """
    return current("wf.span()").trace.span(check_name(name, "name"))


def cancel_waits() -> AbstractContextManager[None]:
    """In this block, a `call` or a `child` that is cancelled asks for its end, waits for it, and gives its answer.

    What has ended by the cancel raises CancelledError; a result is returned, and a failure raised, as without a cancel.
    A second cancel does not wait. Outside of the block, a cancel gives up at once what the code waits for.
    """
    current("wf.cancel_waits()")
    return cancelling.waiting()


def now() -> datetime:
    """The time of this decision step, in UTC."""
    return datetime.fromtimestamp(current("wf.now()").loop.time(), UTC)


def random() -> _random.Random:
    """A generator of random numbers that repeats itself in each replay of this run."""
    return _beside_effects("wf.random()").random


def uuid4() -> UUID:
    """A random UUID, in each replay of this run the same."""
    return _beside_effects("wf.uuid4()").uuid4()


def side_effect(function: Callable[[], Any]) -> Any:
    """Run a short function once, and record its value, which is plain JSON. A replay does not run it again.

    It runs twice if its worker dies before the step is stored. It must not wait: for that there are activities. Raises
    BadOption and NotEncodable.
    """
    execution = current("wf.side_effect()")
    given: Any = function
    if not callable(given) or iscoroutinefunction(given):
        expected = "a function that is not async; an activity does what must wait: await wf.call(...)"
        raise BadOption(name="function", value=function, expected=expected)
    return execution.side_effect(function)


def patched(id: str) -> bool:
    """Whether this run goes by a change of the code: True in new runs, False where the earlier code has been."""
    return _beside_effects("wf.patched()").patched(check_name(id, "id"))


def set_status(value: Any) -> None:
    """Show a value as the state of this run, on its page and by its handle."""
    _beside_effects("wf.set_status()").set_status(value)


def info() -> RunInfo:
    """The run: its id, name, instance, pool and parent, the length of its history before this step, and its size.

    `size` counts what `MAX_HISTORY` limits: commands so far, and signals and cancels that came.
    """
    return current("wf.info()").info_now()


def continue_as_new(*args: Any, **kwargs: Any) -> NoReturn:
    """End this run, and begin the next run of its instance with these arguments and an empty history.

    Signals that no code has read go to the next run.
    """
    execution = current("wf.continue_as_new()")
    raise ContinueAsNew(execution.code.encode(args, kwargs))


def _beside_effects(name: str) -> Execution:
    """The run of this code. Raises RefusedInWorkflow in the function of a side effect, which a replay does not call."""
    execution = current(name)
    execution.loop.refuse_in_effect(name)
    return execution


def current(what: str) -> Execution:
    """The execution whose code runs here. Raises OutsideWorkflow."""
    loop = asyncio._get_running_loop()
    if isinstance(loop, WorkflowLoop) and isinstance(loop.timers, Execution) and not loop.timers.is_forgotten:
        return loop.timers
    advice = "Call it in a function below @workflow, and start that with start()."
    raise OutsideWorkflow(what=what, advice=advice)
