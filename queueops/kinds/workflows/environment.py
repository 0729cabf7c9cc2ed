"""Test environment of workflows: runs them in memory, without a store, and without waiting.

Time jumps to the next timer. Activities run here, or are replaced by `mock`. Each decision step is made by a run that
was replayed from its history, so that each test is a test of the replay, too.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, NamedTuple

import msgspec

from queueops.errors import QueueOpsError, TaskCancelled, TaskFailed
from queueops.errors.workflows import InstanceInUse, WorkflowStuck
from queueops.kinds.workflows import events
from queueops.kinds.workflows.awaited import awaited
from queueops.kinds.workflows.definition import Workflow, WorkflowHandler
from queueops.kinds.workflows.events import Entry
from queueops.kinds.workflows.execution import Execution
from queueops.kinds.workflows.step import RunInfo, Step
from queueops.model import retry
from queueops.model.contracts import Push
from queueops.model.durations import to_ms
from queueops.tasks import registry
from queueops.tasks.encoding import encode_result
from queueops.worker.execution import failure

MOST_STEPS = 100_000
TASK = "task"
_START = datetime(2026, 1, 1, tzinfo=UTC)


class _Mock(NamedTuple):
    function: Callable[..., Any]
    takes_ms: int


@dataclass(slots=True)
class _Run:
    """A run in memory."""

    id: str
    instance: str
    push: Push
    parent: tuple[str, int] | None = None
    history: list[bytes] = field(default_factory=list)
    inbox: list[Entry] = field(default_factory=list)
    open: set[int] = field(default_factory=set)
    ready: bool = True
    state: str = "running"
    result: bytes = b""
    error: BaseException | None = None
    status: bytes = b""
    next: str = ""
    reason: str = "its code ended by a cancel"
    suspended: bool = False

    @property
    def makes_step(self) -> bool:
        """Whether its next step can be made now."""
        return self.ready and self.state == "running" and not self.suspended


class EnvironmentRun:
    """A run of a test: as the handle of a workflow, but it never waits."""

    def __init__(self, environment: WorkflowEnvironment, instance: str) -> None:
        self._environment = environment
        self.instance = instance

    def __repr__(self) -> str:
        return f"<EnvironmentRun {self.instance}: {self.state}>"

    @property
    def state(self) -> str:
        """running, succeeded, failed, cancelled or continued."""
        return self._run.state

    @property
    def status(self) -> Any:
        """The value of `wf.set_status`."""
        return msgspec.json.decode(self._run.status or b"null")

    @property
    def history(self) -> list[Entry]:
        """The history of the newest run."""
        return [events.decode(text) for text in self._run.history]

    def signal(self, name: str, value: Any = None) -> None:
        """Send a signal now."""
        data = encode_result(name, value)
        self._environment.post(self.instance, Entry("signal", name=name, payload=events.raw(data)))

    def cancel(self, reason: str = "") -> None:
        """Ask the code to end."""
        self._environment.post(self.instance, Entry("cancel", reason=reason))

    def terminate(self, reason: str = "") -> None:
        """End the run now, with all that it has open; its code is not asked."""
        self._environment.terminate(self.instance, reason)

    def suspend(self) -> None:
        """Make no further step until `resume`; events wait in the inbox."""
        self._run.suspended = True

    def resume(self) -> None:
        """Go on after `suspend`."""
        self._run.suspended = False

    def result(self) -> Any:
        """Let everything run to the end of this workflow, and return its result.

        Raises TaskFailed and TaskCancelled. Raises WorkflowStuck if it waits for what does not come.
        """
        return self._environment.result_of(self.instance)

    @property
    def _run(self) -> _Run:
        return self._environment.newest(self.instance)


class WorkflowEnvironment:
    """Runs workflows in memory. Not thread-safe; each test makes its own."""

    def __init__(self, *, start: datetime = _START) -> None:
        self.now_ms = round(start.timestamp() * 1000)
        self._mocks: dict[tuple[str, str], _Mock] = {}
        self._runs: dict[str, _Run] = {}
        self._instances: dict[str, str] = {}
        self._agenda: list[tuple[int, int, Callable[[], object]]] = []
        self._numbers = count(1)
        self.calls: list[tuple[str, bytes]] = []
        """The activities that were run, each attempt: name and encoded arguments."""

    @property
    def now(self) -> datetime:
        """The time of this environment."""
        return datetime.fromtimestamp(self.now_ms / 1000, UTC)

    def mock(self, activity: Any, function: Callable[..., Any], *, takes: float = 0) -> None:
        """Run this function in the place of an activity or of a child workflow; each attempt takes so many seconds."""
        kind = WorkflowHandler.kind if isinstance(activity, Workflow) else TASK
        self._mocks[kind, activity.name] = _Mock(function, to_ms("takes", takes) if takes else 0)

    def at(self, delay: float | timedelta, action: Callable[[], object]) -> None:
        """Do something after so many seconds of the environment's time."""
        self._schedule(self.now_ms + to_ms("delay", delay), action)

    def run(self, workflow: Workflow[Any, Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run a workflow to its end, and return its result."""
        return self.start(workflow, *args, **kwargs).result()

    def start(self, workflow: Workflow[Any, Any], /, *args: Any, **kwargs: Any) -> EnvironmentRun:
        """Start a workflow; `result()` of what this returns lets it run. Raises InstanceInUse."""
        push, instance = workflow.as_child(args, kwargs)
        run = self._begin(push, instance or f"run-{next(self._numbers)}")
        return EnvironmentRun(self, run.instance)

    def advance(self, delay: float | timedelta) -> None:
        """Let so much time pass, and everything run that is due in it."""
        until = self.now_ms + to_ms("delay", delay)
        self._settle()
        while self._agenda and self._agenda[0][0] <= until:
            self._jump()
        self.now_ms = until

    def newest(self, instance: str) -> _Run:
        """The newest run of an instance."""
        return self._runs[self._instances[instance]]

    def post(self, instance: str, entry: Entry) -> bool:
        """Put an event into the inbox of an instance; False if its run has ended."""
        known = self._instances.get(instance)
        if known is None or self._runs[known].state != "running":
            return False
        self._deliver(self._runs[known], entry)
        return True

    def terminate(self, instance: str, reason: str = "") -> None:
        """End the newest run of an instance; nothing happens if it has ended."""
        run = self.newest(instance)
        if run.state == "running":
            run.reason = reason or run.reason
            self._close(run, "cancelled")

    def result_of(self, instance: str) -> Any:
        """Let everything run until this instance has ended; see `EnvironmentRun.result`."""
        self._settle()
        while self.newest(instance).state == "running":
            if not self._agenda:
                run = self.newest(instance)
                execution = self._replayed(run)
                where = ", ".join(execution.waiting_at()) or "its beginning"
                execution.dispose()
                raise WorkflowStuck(name=run.push.name, where=where)
            self._jump()
        run = self.newest(instance)
        if run.state == "succeeded":
            return _handler(run.push.name).result_type.decode(run.result)
        if run.state == "cancelled":
            raise TaskCancelled(id=run.id, reason=run.reason)
        known = failure.describe(run.error or QueueOpsError("?"))
        found = TaskFailed(id=run.id, type=known.type, message=known.message, traceback=known.traceback)
        raise found from run.error

    # Runs

    def _begin(self, push: Push, instance: str, parent: tuple[str, int] | None = None) -> _Run:
        known = self._instances.get(instance)
        if known is not None and self._runs[known].state == "running":
            raise InstanceInUse(id=instance, run=known, state="running")
        run = _Run(f"{instance}#{next(self._numbers)}", instance, push, parent)
        self._runs[run.id] = run
        self._instances[instance] = run.id
        return run

    def _settle(self) -> None:
        """Make the steps of all runs that are ready."""
        for _ in range(MOST_STEPS):
            run = next((run for run in self._runs.values() if run.makes_step), None)
            if run is None:
                return
            self._make_step(run)
        raise QueueOpsError(f"A workflow made more than {MOST_STEPS} steps without an end.")

    def _jump(self) -> None:
        """Go to the next moment at which something happens."""
        at, _, action = heapq.heappop(self._agenda)
        self.now_ms = max(self.now_ms, at)
        action()
        while self._agenda and self._agenda[0][0] <= self.now_ms:
            heapq.heappop(self._agenda)[2]()
        self._settle()

    def _replayed(self, run: _Run) -> Execution:
        info = RunInfo(
            id=run.id, name=run.push.name, instance=run.instance, pool=run.push.pool,
            parent=run.parent[0] if run.parent else "", length=len(run.history),
        )  # fmt: skip
        execution = _handler(run.push.name).execution(info, run.push.args)
        execution.replay(run.history)
        return execution

    def _make_step(self, run: _Run) -> None:
        taken, run.inbox, run.ready = run.inbox, [], False
        execution = self._replayed(run)
        try:
            step: Step = execution.advance(self.now_ms, taken)
        finally:
            execution.dispose()
        run.history += [events.encode(each) for each in (Entry(events.STEP, at_ms=step.at), *taken, *step.commands)]
        if step.status is not None:
            run.status = step.status
        for entry in step.commands:
            self._obey(run, entry, step)
        if step.over:
            self._end(run, step)

    def _obey(self, run: _Run, entry: Entry, step: Step) -> None:
        if entry.kind in ("call", "child", "timer"):
            run.open.add(entry.command)
        match entry.kind:
            case "call":
                push = step.pushes[entry.command]
                self._schedule(self._due(push), lambda: self._attempt(run, entry.command, push, 1))
            case "timer":
                self._schedule(entry.at_ms, lambda: self._finish(run, Entry("fired", command=entry.command)))
            case "child":
                self._start_child(run, entry, step.pushes[entry.command])
            case "drop":
                self._drop(run, entry.command)
            case "tell":
                told = self.post(entry.instance, Entry("signal", name=entry.name, payload=entry.payload))
                self._deliver(run, Entry("done" if told else "failed", command=entry.command))

    def _due(self, push: Push) -> int:
        return push.due if push.due is not None else self.now_ms + (push.delay_ms or 0)

    def _start_child(self, run: _Run, entry: Entry, push: Push) -> None:
        if known := self._mocks.get((WorkflowHandler.kind, push.name)):
            self._schedule(self.now_ms + known.takes_ms, lambda: self._pretend(run, entry.command, push, known))
            return
        try:
            self._begin(push, entry.instance, (run.id, entry.command))
        except InstanceInUse as error:
            self._finish(run, _failed(entry.command, error))

    def _pretend(self, run: _Run, number: int, push: Push, known: _Mock) -> None:
        """End a child with what its replacement returns or raises."""
        args, kwargs = _handler(push.name).plan.decode(push.args)
        try:
            data = encode_result(push.name, awaited(known.function(*args, **kwargs)))
        except Exception as error:  # the code of a test runs here
            self._finish(run, _failed(number, error))
            return
        self._finish(run, Entry("done", command=number, payload=events.raw(data)))

    def _drop(self, run: _Run, number: int) -> None:
        run.open.discard(number)
        for other in self._runs.values():
            if other.parent == (run.id, number) and other.state == "running":
                other.parent = None
                self._deliver(other, Entry("cancel", reason="its parent does not need it any more"))

    def _end(self, run: _Run, step: Step) -> None:
        run.result, run.error = step.result, step.error
        self._close(run, step.state, step)

    def _close(self, run: _Run, state: str, step: Step | None = None) -> None:
        run.state = state
        for number in tuple(run.open):
            self._drop(run, number)
        if step is not None and step.again is not None:
            push = msgspec.structs.replace(run.push, args=step.again)
            following = self._begin(push, run.instance, run.parent)
            run.next = following.id
            following.inbox = [*step.unread, *(entry for entry in run.inbox if entry.kind in ("signal", "cancel"))]
        elif run.parent is not None and (parent := self._runs[run.parent[0]]).state == "running":
            ended = Entry("done", command=run.parent[1], payload=events.raw(run.result))
            if run.state != "succeeded":
                error = events.raw(b"" if run.error is None else failure.describe(run.error).encoded())
                ended = Entry("failed", command=run.parent[1], state=run.state, error=error)
            self._finish(parent, ended)

    # Activities

    def _attempt(self, run: _Run, number: int, push: Push, attempt: int) -> None:
        if number not in run.open:
            return
        known = self._mocks.get((TASK, push.name))
        takes = known.takes_ms if known else 0
        self._schedule(self.now_ms + takes, lambda: self._call(run, number, push, attempt))

    def _call(self, run: _Run, number: int, push: Push, attempt: int) -> None:
        if number not in run.open:
            return
        self.calls.append((push.name, push.args))
        handler: Any = registry.get("task", push.name)
        try:
            args, kwargs = handler.plan.decode(push.args)
            known = self._mocks.get((TASK, push.name))
            function = known.function if known else handler.call
            data = encode_result(push.name, awaited(function(*args, **kwargs)))
        except Exception as error:  # the code of an activity runs here
            if attempt <= push.retries and isinstance(error, tuple(handler.retry_on)):
                delay = retry.parse(push.retry).delay_ms(attempt)
                self._schedule(self.now_ms + delay, lambda: self._attempt(run, number, push, attempt + 1))
                return
            self._finish(run, _failed(number, error))
            return
        self._finish(run, Entry("done", command=number, payload=events.raw(data)))

    def _finish(self, run: _Run, entry: Entry) -> None:
        """Deliver the end of a command, unless the run gave it up."""
        if entry.command in run.open:
            run.open.discard(entry.command)
            self._deliver(run, entry)

    def _deliver(self, run: _Run, entry: Entry) -> None:
        run.inbox.append(entry)
        run.ready = True

    def _schedule(self, at: int, action: Callable[[], object]) -> None:
        heapq.heappush(self._agenda, (at, next(self._numbers), action))


def _failed(number: int, error: BaseException) -> Entry:
    """The end of a command that failed with an error."""
    return Entry("failed", command=number, error=msgspec.Raw(failure.describe(error).encoded()))


def _handler(name: str) -> WorkflowHandler:
    found = registry.get(WorkflowHandler.kind, name)
    if not isinstance(found, WorkflowHandler):
        raise TypeError(f"{name} is not a workflow")
    return found
