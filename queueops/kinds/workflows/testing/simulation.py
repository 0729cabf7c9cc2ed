"""Simulation of workflows: their runs in memory, with a time of their own and an agenda of what happens at which time.

Each decision step is made by a run that was replayed from its history, so that each test is a test of the replay, too.
A long history is replayed each time that it has grown by a quarter.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import msgspec

from queueops.errors import QueueOpsError, ResultTimeout, TaskCancelled, TaskFailed
from queueops.errors.workflows import EventLoopBlocked, InstanceInUse, WorkflowStuck
from queueops.kinds.workflows import events
from queueops.kinds.workflows.awaited import as_task, value_of
from queueops.kinds.workflows.definition import WorkflowHandler
from queueops.kinds.workflows.events import Entry
from queueops.kinds.workflows.replay.ending import IN_USE
from queueops.kinds.workflows.replay.execution import Execution
from queueops.kinds.workflows.replay.history_limit import check_size
from queueops.kinds.workflows.replay.step import RunInfo, Step
from queueops.kinds.workflows.testing import attempts
from queueops.kinds.workflows.testing.attempts import TASK
from queueops.kinds.workflows.testing.memory_run import GIVEN_UP, TASKS, UNNEEDED, Begun, MemoryRun, failed
from queueops.kinds.workflows.testing.runs_again import RunsAgain
from queueops.model.contracts import Push
from queueops.model.durations import to_ms
from queueops.tasks import registry
from queueops.worker.execution import failure

MOST_STEPS = 100_000
LONG = 1_000
"""Entries from which on a history is not replayed for each step."""


class Mock(NamedTuple):
    """What runs in the place of an activity or a child, and for how long."""

    function: Callable[..., Any]
    takes_ms: int


class Simulation(RunsAgain):
    """Runs in memory, what they have begun, and the time. Not thread-safe."""

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self._mocks: dict[tuple[str, str], Mock] = {}
        self._runs: dict[str, MemoryRun] = {}
        self._instances: dict[str, str] = {}
        self._agenda: list[tuple[int, int, Callable[[], object]]] = []
        self._numbers = count(1)
        self._kept: dict[str, tuple[Execution, int]] = {}
        """Runs with a long history in memory, and the length at which they are replayed again."""
        self.calls: list[tuple[str, bytes]] = []
        """The activities that were run, each attempt: name and encoded arguments."""
        self._refused: list[MemoryRun] = []
        """Abandoned children whose instance was in use when their parent ended."""

    def _last(self, id: str) -> MemoryRun:
        """The run that a run went on as."""
        run = self._runs[id]
        while run.next:
            run = self._runs[run.next]
        return run

    def _newest(self, instance: str) -> MemoryRun | None:
        return self._runs.get(self._instances.get(instance, ""))

    # Runs

    def _post(self, run: MemoryRun | None, entry: Entry) -> bool:
        if run is None or run.state != "running":
            return False
        if entry.kind == "cancel" and run.delayed:  # it has no code yet that could answer
            return self._terminate(run, entry.reason or "cancelled before its begin")
        self._deliver(run, entry)
        return True

    def _terminate(self, run: MemoryRun, reason: str = "") -> bool:
        if run.state != "running":
            return False
        run.reason = reason or run.reason
        self._close(run, "cancelled")
        return True

    def _result(self, id: str, timeout: float | timedelta | None) -> Any:
        """Let everything run until a run, and what it goes on as, has ended."""
        until = None if timeout is None else self.now_ms + to_ms("timeout", timeout)
        self._settle()
        while (run := self._last(id)).state == "running":
            if until is not None and (not self._agenda or self._agenda[0][0] > until):
                self.now_ms = until
                reason = "No more of the environment's time was given."
                raise ResultTimeout(id=run.id, seconds=_seconds(timeout), state=run.state, reason=reason)
            if not self._agenda:
                execution = self._replayed(run)
                where = ", ".join(execution.waiting_at()) or "its beginning"
                execution.dispose()
                raise WorkflowStuck(name=run.push.name, where=where)
            self._jump()
        run = self._last(id)
        if run.state == "succeeded":
            return _handler(run.push.name).result_type.decode(run.result)
        if run.state == "cancelled":
            raise TaskCancelled(id=run.id, reason=run.reason)
        known = failure.describe(run.error or QueueOpsError("?"))
        found = TaskFailed(id=run.id, type=known.type, message=known.message, traceback=known.traceback)
        raise found from run.error

    def _begin(self, push: Push, instance: str, parent: Begun | None = None) -> MemoryRun:
        known = self._newest(instance)
        if known is not None and parent is not None and known.is_given_up_before(parent.run):
            self._terminate(known, "the next run of its parent begins it again")
        if known is not None and known.state == "running":
            raise InstanceInUse(id=instance, run=known.id, state="running")
        run = self._add(MemoryRun(f"{instance}#{next(self._numbers)}", instance, push, parent))
        if (due := self._due(push)) > self.now_ms:
            run.delayed = True
            self._schedule(due, lambda: setattr(run, "delayed", False))
        return run

    def _new_run(self, instance: str, like: MemoryRun) -> MemoryRun:
        return self._add(MemoryRun(f"{instance}#{next(self._numbers)}", instance, like.push))

    def _add(self, run: MemoryRun) -> MemoryRun:
        self._runs[run.id] = run
        self._instances[run.instance] = run.id
        return run

    def _settle(self) -> None:
        """Make the steps of all runs that are ready."""
        for _ in range(MOST_STEPS):
            run = next((run for run in self._runs.values() if run.makes_step), None)
            if run is None:
                return
            with as_task(msgspec.structs.replace(run.push, id=run.id), _handler(run.push.name), 1):
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

    def _replayed(self, run: MemoryRun) -> Execution:
        execution = _handler(run.push.name).execution(_info(run), run.push.args)
        execution.replay(run.history)
        return execution

    def _taken_out(self, run: MemoryRun) -> tuple[Execution, int]:
        """A run that can make its next step, and the length of its history at which it is replayed again."""
        length = len(run.history)
        execution, until = self._kept.pop(run.id, (None, 0))
        if execution is not None and execution.length == length < until:
            execution.info = _info(run)
            return execution, until
        if execution is not None:
            execution.dispose()
        return self._replayed(run), length + length // 4

    def _make_step(self, run: MemoryRun) -> None:
        taken, keeps = list(run.inbox), False
        execution, until = self._taken_out(run)
        try:
            step: Step = execution.advance(self.now_ms, taken)
            check_size(execution, step)
            keeps = execution.length > LONG and not step.over
        finally:
            if keeps:
                self._kept[run.id] = execution, until
            else:
                execution.dispose()
        run.inbox, run.ready = run.inbox[len(taken) :], False
        run.history += [events.encode(each) for each in (Entry(events.STEP, at_ms=step.at), *taken, *step.commands)]
        if step.status is not None:
            run.status = step.status
        for entry in step.commands:
            self._obey(run, entry, step)
        if step.over:
            self._end(run, step)

    def _obey(self, run: MemoryRun, entry: Entry, step: Step) -> None:
        if entry.kind in TASKS:
            begun = Begun(run, entry, step.pushes.get(entry.command), on_end=step.left.get(entry.command, ""))
            run.begun[begun.number] = run.open[begun.number] = begun
            self._start(begun, step.over)
        elif entry.kind == "drop":
            if found := run.open.pop(entry.command, None):
                self._drop(found)
        elif entry.kind == "ask" and (found := run.open.get(entry.command)):
            self._ask(found)
        elif entry.kind == "tell":
            told = self._post(self._newest(entry.instance), Entry("signal", name=entry.name, payload=entry.payload))
            self._deliver(run, Entry("done" if told else "failed", command=entry.command))

    def _start(self, begun: Begun, over: bool = False) -> None:
        entry, push = begun.entry, begun.push
        if push is None:
            self._schedule(entry.at_ms, lambda: self._finish(begun, Entry("fired", command=begun.number)))
        elif entry.kind == "call":
            self._schedule(self._due(push), lambda: self._attempt(begun, push, 1))
        else:
            self._start_child(begun, push, over)

    def _due(self, push: Push) -> int:
        return push.due if push.due is not None else self.now_ms + (push.delay_ms or 0)

    def _start_child(self, begun: Begun, push: Push, over: bool) -> None:
        if known := self._mocks.get((WorkflowHandler.kind, push.name)):
            self._schedule(self.now_ms + known.takes_ms, lambda: self._pretend(begun, push, known))
            return
        try:
            begun.child = self._begin(push, begun.entry.instance, begun)
        except InstanceInUse as error:
            why = f"its instance {error.id} has a run that has not ended: {error.run}"
            self._finish(begun, Entry("failed", command=begun.number, state=IN_USE, reason=why))
            if over and begun.on_end == "abandon":  # no code gets the error
                id = f"{error.id}#{next(self._numbers)}"
                refused = MemoryRun(id, error.id, push, ready=False, state="cancelled", reason=why)
                self._runs[id] = refused
                self._refused.append(refused)

    def _pretend(self, begun: Begun, push: Push, known: Mock) -> None:
        """End a child with what its replacement returns or raises."""
        if not begun.is_open:
            return
        handler = _handler(push.name)
        args, kwargs = handler.plan.decode(push.args)
        try:
            data = handler.result_type.encode(push.name, value_of(partial(known.function, *args, **kwargs)))
        except EventLoopBlocked:
            raise
        except Exception as error:  # the code of a test runs here
            self._finish(begun, failed(begun.number, error))
            return
        self._finish(begun, Entry("done", command=begun.number, payload=events.raw(data)))

    def _drop(self, begun: Begun) -> None:
        child = begun.child
        if child is not None and child.parent is begun and child.state == "running":
            child.parent, child.given_up = None, begun
            if begun.on_end == "abandon":
                return
            child.left_by = begun.run
            if begun.on_end == "terminate":
                self._terminate(child, GIVEN_UP)
            elif child.delayed:  # it has no code yet that could answer
                child.reason = GIVEN_UP
                self._close(child, "cancelled")
            elif not begun.is_asked:
                self._deliver(child, Entry("cancel", reason=GIVEN_UP))

    def _ask(self, begun: Begun) -> None:
        """Ask what a command has begun to end: the run waits for that."""
        if begun.child is None:
            self._finish(begun, Entry("failed", command=begun.number, state="cancelled", reason=UNNEEDED))
        elif not begun.is_asked:
            begun.is_asked = True
            self._post(begun.child, Entry("cancel", reason=GIVEN_UP))

    def _end(self, run: MemoryRun, step: Step) -> None:
        run.result, run.error, run.reason = step.result, step.error, step.reason or run.reason
        self._close(run, step.state, step)

    def _close(self, run: MemoryRun, state: str, step: Step | None = None) -> None:
        run.state = state
        if kept := self._kept.pop(run.id, None):
            kept[0].dispose()
        left, run.open = list(run.open.values()), {}
        for begun in left:
            self._drop(begun)
        if step is not None and step.again is not None:
            push = msgspec.structs.replace(run.push, args=step.again, due=None, delay_ms=None)
            following = self._begin(push, run.instance, run.parent)
            run.next, following.left_by = following.id, run.left_by
            for waits in (run.parent, run.given_up):
                if waits is not None:
                    waits.child = following
            following.given_up = run.given_up
            following.inbox = [*step.unread, *(entry for entry in run.inbox if entry.kind in ("signal", "cancel"))]
        elif run.parent is not None:
            self._finish(run.parent, run.ended(run.parent.number))

    # Activities

    def _attempt(self, begun: Begun, push: Push, attempt: int) -> None:
        if begun.is_open:
            known = self._mocks.get((TASK, push.name))
            takes = attempts.time_of(push, known.takes_ms) if known else 0
            self._schedule(self.now_ms + takes, lambda: self._call(begun, push, attempt))

    def _call(self, begun: Begun, push: Push, attempt: int) -> None:
        if not begun.is_open:
            return
        self.calls.append((push.name, push.args))
        known = self._mocks.get((TASK, push.name))
        mock, takes = (known.function, known.takes_ms) if known else (None, 0)
        end = attempts.attempted(begun.number, push, attempt, mock, takes)
        if isinstance(end, Entry):
            self._finish(begun, end)
        else:
            self._schedule(self.now_ms + end.delay_ms, lambda: self._attempt(begun, push, end.attempt))

    def _finish(self, begun: Begun, entry: Entry) -> None:
        """Deliver the end of a command, unless the run gave it up."""
        if begun.is_open:
            del begun.run.open[begun.number]
            self._deliver(begun.run, entry)

    def _deliver(self, run: MemoryRun, entry: Entry) -> None:
        run.inbox.append(entry)
        run.ready = True

    def _schedule(self, at: int, action: Callable[[], object]) -> None:
        heapq.heappush(self._agenda, (at, next(self._numbers), action))


def _seconds(timeout: float | timedelta | None) -> float:
    return timeout.total_seconds() if isinstance(timeout, timedelta) else timeout or 0.0


def _info(run: MemoryRun) -> RunInfo:
    return RunInfo(
        id=run.id, name=run.push.name, instance=run.instance, pool=run.push.pool,
        parent=run.parent.run.id if run.parent else "", length=len(run.history), origin=run.origin or run.id,
    )  # fmt: skip


def _handler(name: str) -> WorkflowHandler:
    found = registry.get(WorkflowHandler.kind, name)
    if not isinstance(found, WorkflowHandler):
        raise TypeError(f"{name} is not a workflow")
    return found
