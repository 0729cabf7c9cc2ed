"""Execution of one run in memory: replays its history, then makes decision steps.

A step takes events from the inbox and returns commands. The same code with the same history gives the same commands.
A difference raises NotDeterministic, and the run goes no further.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

from queueops.errors.workflows import ActivityFailed, ChildFailed, ChildInUse, NotDeterministic, WorkflowStuck
from queueops.kinds.workflows import events
from queueops.kinds.workflows.arguments import encode_signal
from queueops.kinds.workflows.events import Block, Entry
from queueops.kinds.workflows.replay.cancelling import is_waiting
from queueops.kinds.workflows.replay.comparison import check_same, stack_of, told_death
from queueops.kinds.workflows.replay.ending import IN_USE, cancel_reason, judged, stored_error
from queueops.kinds.workflows.replay.loop import WorkflowLoop, WorkflowTimer
from queueops.kinds.workflows.replay.run_trace import RunTrace
from queueops.kinds.workflows.replay.step import FRAME, Code, ContinueAsNew, OnParentEnd, RunInfo, Step
from queueops.model.contracts import Push
from queueops.model.ids import new_id
from queueops.tasks.encoding import decode_result, encode_result
from queueops.tasks.lossy_values import encode_plain

T = TypeVar("T")
SHOWN = 20
"""Waiting places of the code that a step reports."""


@dataclass(slots=True)
class _Open:
    """A command whose end has not come."""

    entry: Entry
    future: asyncio.Future[Any] | None = None
    handle: WorkflowTimer | None = None


class Execution:
    """One run in memory. It begins with its first step."""

    def __init__(self, info: RunInfo, code: Code) -> None:
        self.info = info
        self.loop = WorkflowLoop(self)  # type: ignore[abstract]  # its other methods are set: each refuses
        self.length = self.length_before = self.steps = self.begun_ms = 0
        self.random = random.Random(info.origin or info.id)  # it must repeat itself
        self.code = code
        self._main: asyncio.Task[Any] | None = None
        self._late_cancel: Entry | None = None
        self._numbers = self._waits = self._told = self.size_before = 0
        self._open: dict[int, _Open] = {}
        self._signals: dict[str, asyncio.Queue[bytes]] = {}
        self._listening: dict[int, str] = {}
        self._patches: dict[str, bool] = {}
        self._recorded: dict[int, Entry] = {}
        self._recorded_patches, self._all_patches = set[str](), set[str]()
        self._changed_timers: dict[int, int] = {}
        self.step = Step(0)
        self.trace = RunTrace(self)
        self.replaying = self.is_forgotten = False

    # A step

    def replay(self, history: Iterable[bytes]) -> None:
        """Run the code through its history. Raises NotDeterministic and what `advance` raises."""
        untold = self.loop.take_problems()  # of earlier steps: asyncio may tell one between two steps
        for block in events.blocks(history):
            self.length_before = self.length
            self.length += 1 + len(block.events) + len(block.commands)
            self._recorded = {entry.command: entry for entry in block.commands if entry.command}
            self._recorded_patches = {entry.name for entry in block.commands if entry.kind == "patch"}
            self._all_patches |= self._recorded_patches
            self.replaying = True
            try:
                self._run(block.at, block.events)
            finally:
                self.replaying = False
            self._compare(block)
        self.loop.take_problems()
        self.loop.problems = untold  # the steps that were replayed have told theirs

    def advance(self, at: int, taken: Sequence[Entry]) -> Step:
        """Make one step with the events of the inbox. Raises BlockedStep, and an interrupt of the worker."""
        self._recorded, self._recorded_patches, self.size_before = {}, set(), self.size
        self.length_before = self.length
        step = self._run(at, taken)
        if self._main is not None and self._is_over:  # no local variable: an error of the code may keep this frame
            self._close(self._main)
        elif self._main is not None and not self._open and not self._listening:
            raise WorkflowStuck(name=self.info.name, where=", ".join(self.waiting_at()) or "?")
        step.where = [] if step.over else self.stacks()
        step.notes += self.loop.take_problems()
        step.died = [] if step.over else [told_death(task) for task in self.loop.failed_tasks()[:SHOWN]]
        self.length += 1 + len(taken) + len(step.commands)
        return step

    @property
    def size(self) -> int:
        """How many commands the code gave, and how many signals and cancels it got. Ends of commands add none."""
        return self._numbers + self._told

    def info_now(self) -> RunInfo:
        """The run with its length and size at this place of its code, in each replay the same."""
        return replace(self.info, length=self.length_before, size=self.size)

    def dispose(self) -> None:
        """Forget the run. Its code is closed here, in creation order, and not by the garbage collector at any time.

        A `finally` runs then. What it logs and prints is dropped, what has effects is refused, and the functions of
        `wf` raise OutsideWorkflow.
        """
        self._open, self.step, self.replaying, self.is_forgotten = {}, Step(0), True, True
        with self.loop.running():
            for task in list(self.loop.tasks.values()):
                with contextlib.suppress(BaseException):  # whatever a finally of the code raises, as an await in it
                    task.get_coro().close()
        self.loop.tasks.clear()
        # Errors keep the variables of the code, and the loop and this object keep each other.
        self._main = self.loop.exit = self.loop.interrupt = self.loop.refused = None

    def waiting_at(self) -> list[str]:
        """Signals, and file and line of the code that waits, of the first tasks."""
        return [line.rpartition(FRAME)[2] for line in self.stacks()]

    def stacks(self) -> list[str]:
        """Signals, and the frames of the code that waits, of the first tasks; FRAME stands between frames."""
        found = []
        for task in islice(self.loop.tasks.values(), SHOWN):
            if frames := stack_of(task.get_coro()):
                found.append(FRAME.join(frames))
        return [*dict.fromkeys(f"signal {name}" for name in self._listening.values()), *found][:SHOWN]

    def _run(self, at: int, taken: Sequence[Entry]) -> Step:
        self.steps += 1
        self.loop.now_ms = max(self.loop.now_ms, at)
        self.begun_ms = self.begun_ms or at
        self.step = Step(self.loop.now_ms, len(taken))
        self._told += sum(not entry.command for entry in taken)
        if self._main is None:
            self._main = self.loop.create_task(self.code.begin(), name="workflow")
            self.loop.run_until_quiet()
        for entry in taken:
            if self._is_over and entry.kind == "cancel":
                self._late_cancel = entry
            elif self._is_over and entry.kind != "signal":
                continue  # nothing waits for it; signals and a cancel go to the next run, if there is one
            self._apply(entry)
            self.loop.run_until_quiet()
        return self.step

    def _apply(self, entry: Entry) -> None:
        match entry.kind:
            case "signal":
                self.trace.signal(entry.name)
                self.signals(entry.name).put_nowait(events.payload(entry))
            case "cancel" if self._main is not None:
                self._main.cancel(entry.reason or None)
            case "done" | "failed" | "fired":
                self._end(entry)

    def _end(self, entry: Entry) -> None:
        if (found := self._open.pop(entry.command, None)) is None:
            return  # the code gave it up before this event came
        if found.handle is not None:
            self.loop.now_ms = max(self.loop.now_ms, found.entry.at_ms)
            self.trace.timer_fired(entry.command)
            self.loop.fire(found.handle)
        elif found.future is not None and not found.future.done():
            found.future.set_result(entry)

    def _compare(self, block: Block) -> None:
        if self._main is not None and self._is_over:
            self._close(self._main, was_stored=any(entry.state == "succeeded" for entry in block.commands))
        check_same(self.info.name, self.steps, self.step.commands, block.commands)

    def _close(self, main: asyncio.Task[Any], *, was_stored: bool = False) -> None:
        """The code has ended: judge how. ``was_stored``: the history has its result, which is not checked anew."""
        step = self.step
        step.over = True
        if self.loop.exit is None and main.cancelled():
            step.state, step.reason = "cancelled", cancel_reason(main)
        elif raised := self.loop.exit or main.exception():
            error = judged(raised)
            if isinstance(error, ContinueAsNew):
                step.state, step.again, step.next_id = "continued", error.arguments, new_id()
            else:
                step.state, step.error = "failed", error
        else:
            try:
                encode = partial(encode_result, self.info.name) if was_stored else self.code.encode_result
                step.state, step.result = "succeeded", encode(main.result())
            except Exception as unfit:  # the result cannot be encoded, whatever its own code raises
                step.state, step.error = "failed", unfit
        left = sum(1 for task in self.loop.tasks.values() if task is not main)
        step.unread = self._unread()
        if step.state == "continued" and self._late_cancel is not None:
            step.unread.append(self._late_cancel)
        if left:
            step.notes.append(f"it ended before {left} tasks of its code, which are dropped")
        step.commands.append(Entry("end", state=step.state))

    @property
    def _is_over(self) -> bool:
        return self.loop.exit is not None or (self._main is not None and self._main.done())

    def _unread(self) -> list[Entry]:
        """The signals that no code has read."""
        found = []
        for name, queue in self._signals.items():
            while not queue.empty():
                found.append(Entry("signal", name=name, payload=events.raw(queue.get_nowait())))
        return found

    # Timers of the loop

    def set_timer(self, handle: WorkflowTimer, at_ms: int) -> None:
        """A timer of the code is a command of the run. In a replay its recorded time holds, if the code has changed."""
        number = self._next()
        found = self._recorded.get(number)
        if found is not None and found.kind == "timer" and found.at_ms != at_ms:
            self._changed_timers[number], at_ms = at_ms, found.at_ms
        handle.number = number
        self.trace.timer_set(number)
        entry = Entry("timer", command=number, at_ms=at_ms)
        self._command(entry, _Open(entry, handle=handle))

    def changed_timers(self) -> list[tuple[Entry, int]]:
        """Timers that wait, and that the code sets to another time than is recorded: each with that time, in ms."""
        return [(self._open[number].entry, at) for number, at in self._changed_timers.items() if number in self._open]

    def drop_timer(self, handle: WorkflowTimer) -> None:
        """The code does not need it any more."""
        self._give_up(handle.number)

    # What the code asks for

    async def call(self, push: Push, digest: str, decode: Callable[[bytes], T]) -> T:
        """Run an activity, and wait for its result. Raises ActivityFailed."""
        number = self._next()
        push.id = f"{self.info.id}.{number}"
        pool = self._other(push.pool)
        entry = Entry("call", command=number, name=push.name, arguments_digest=digest, pool=pool)
        return decode(await self._outcome(entry, push, ActivityFailed))

    async def child(
        self, push: Push, digest: str, instance: str, decode: Callable[[bytes], T], on_end: OnParentEnd = "cancel"
    ) -> T:
        """Run a child workflow, and wait for its result. Raises ChildFailed and ChildInUse."""
        number = self._next()
        push.id = f"{self.info.id}.{number}"
        pool = self._other(push.pool)
        named = instance or self._recorded_instance(number) or push.id
        if on_end != "cancel":
            self.step.left[number] = on_end
        entry = Entry("child", command=number, name=push.name, arguments_digest=digest, instance=named, pool=pool)
        return decode(await self._outcome(entry, push, ChildFailed))

    def _recorded_instance(self, number: int) -> str:
        """The instance of a child without a name, as recorded: after a reset, that of the earlier run."""
        found = self._recorded.get(number) if self.replaying else None
        return found.instance if found is not None and found.kind == "child" else ""

    def _other(self, pool: str) -> str:
        """The name of a pool that is not that of the run; else empty."""
        return pool if pool != self.info.pool else ""

    async def tell(self, instance: str, name: str, value: Any, pool: str = "") -> bool:
        """Send a signal to another instance. Returns whether it had a run that took it."""
        found = self._recorded.get(self._numbers + 1)
        data = encode_signal(name, value, was_sent=found is not None and found.kind == "tell")
        to = self._other(pool) if pool else ""
        entry = Entry("tell", command=self._next(), instance=instance, name=name, payload=events.raw(data), pool=to)
        return (await self._wait(entry)).kind == "done"

    async def signal(self, name: str) -> Any:
        """The payload of the next signal of this name."""
        number = self._waits = self._waits + 1
        self._listening[number] = name
        try:
            return decode_result(self.info.name, await self.signals(name).get())
        finally:
            del self._listening[number]

    def signals(self, name: str) -> asyncio.Queue[bytes]:
        """The signals of a name that came, and that no code has read."""
        if name not in self._signals:
            self._signals[name] = asyncio.Queue()
        return self._signals[name]

    def side_effect(self, call: Callable[[], T]) -> Any:
        """The value of a function that runs once; its value is recorded. It is plain JSON, in each replay the same."""
        number = self._next()
        if self.replaying:
            found = self._recorded.get(number)
            if found is None or found.kind != "side":
                recorded = found.told() if found else "nothing more"
                raise NotDeterministic(
                    name=self.info.name, step=self.steps, recorded=recorded, done=f"side number {number}"
                )
            data = events.payload(found)
        else:
            with self.loop.effects():
                value = call()
            data = encode_plain(self.info.name, value, "value of a side effect")
        self.step.commands.append(Entry("side", command=number, payload=events.raw(data)))
        return decode_result(self.info.name, data)

    def patched(self, patch: str) -> bool:
        """Whether the run goes by the changed code: a run that was there before the change goes by the earlier."""
        if patch not in self._patches:
            self._patches[patch] = not self.replaying or patch in self._recorded_patches
            if self._patches[patch]:
                self.step.commands.append(Entry("patch", name=patch))
        return self._patches[patch]

    @property
    def has_unasked_patches(self) -> bool:
        """Whether the history has a patch for which this code has not asked: it is the earlier code, or a later one."""
        return not self._all_patches <= self._patches.keys()

    def set_status(self, value: Any) -> None:
        """Show a value as the state of the run. It is not part of its history."""
        self.step.status = encode_result(self.info.name, value, "status") or b"null"

    def uuid4(self) -> UUID:
        """A random UUID, in each replay the same."""
        return UUID(int=self.random.getrandbits(128), version=4)

    def _next(self) -> int:
        self.loop.refuse_in_effect()
        self._numbers += 1
        return self._numbers

    def _command(self, entry: Entry, opened: _Open) -> None:
        self._open[entry.command] = opened
        self.step.commands.append(entry)

    async def _outcome(self, entry: Entry, push: Push, failure: type[ActivityFailed | ChildFailed]) -> bytes:
        push.trace = self.trace.context()
        self.step.pushes[entry.command] = push
        end = await self._wait(entry)
        if end.kind == "done":
            return events.payload(end)
        error = stored_error(end)
        failure = ChildInUse if end.state == IN_USE else failure
        fields = {"id": push.id, "name": push.name, "type": error.type, "message": error.message}
        raise failure(**fields, traceback=error.traceback)

    async def _wait(self, entry: Entry) -> Entry:
        future = self.loop.create_future()
        self._command(entry, _Open(entry, future))
        try:
            end: Entry = await future
        except asyncio.CancelledError:
            if entry.kind not in ("call", "child") or not is_waiting.get() or not self._ask_to_end(entry):
                self._give_up(entry.command)
                raise
            end = await self._end_of_asked(entry.command)
            if end.state == "cancelled":
                raise
        return end

    def _ask_to_end(self, entry: Entry) -> bool:
        """Ask what a command has begun to end. False for one of this very step, which was never given."""
        is_given = entry.command in self._open and entry not in self.step.commands
        if is_given:
            self.step.commands.append(Entry("ask", command=entry.command))
        return is_given

    async def _end_of_asked(self, number: int) -> Entry:
        self._open[number].future = future = self.loop.create_future()
        try:
            end: Entry = await future
        except asyncio.CancelledError:
            self._give_up(number)
            raise
        return end

    def _give_up(self, number: int) -> None:
        """Withdraw a command. One of this very step was never given."""
        found = self._open.pop(number, None)
        if found is None:
            return
        commands = self.step.commands
        for place in range(len(commands) - 1, -1, -1):
            if commands[place].command == number and self.step.left.get(number) != "abandon":
                del commands[place]
                self.step.pushes.pop(number, None)
                return
        commands.append(Entry("drop", command=number))
