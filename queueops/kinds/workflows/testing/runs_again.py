"""Reset and retry of runs in memory, by the same rules as in the store: see docs/workflows.md."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace

from queueops.errors.workflows import ResetRefused
from queueops.kinds.workflows.events import Entry
from queueops.kinds.workflows.testing.memory_run import ENDS, TASKS, Begun, MemoryRun, is_given_up, mark_of, open_before
from queueops.model.states import State, table


class RunsAgain(ABC):
    """Makes steps of runs again. The environment begins what their commands mean."""

    @abstractmethod
    def _new_run(self, instance: str, like: MemoryRun) -> MemoryRun:
        """A run that is now the newest of an instance."""

    @abstractmethod
    def _newest(self, instance: str) -> MemoryRun | None:
        """The newest run of an instance."""

    @abstractmethod
    def _start(self, begun: Begun, over: bool = False) -> None:
        """Begin an activity, a timer or a child."""

    @abstractmethod
    def _drop(self, begun: Begun) -> None:
        """Give up what a command has begun."""

    @abstractmethod
    def _close(self, run: MemoryRun, state: str) -> None:
        """End a run."""

    def _retry(self, run: MemoryRun, *, everything: bool) -> bool:
        """Make the failed step again, or begin from nothing. False if the state of the run does not permit it."""
        if "retry" not in table().actions.get(run.state, ()):
            return False
        if everything or run.state != State.FAILED or not self._go_on(run, wanted=run.parent is not None):
            run.start_over()
        return True

    def _go_on(self, run: MemoryRun, *, wanted: bool) -> bool:
        """Go on from the last step; if ``wanted``, without a cancel by the parent. False if there is no such step."""
        entries = run.entries()
        mark = mark_of(entries, len(entries))
        behind = entries[mark + 1 :]
        if mark < 0 or (run.state == State.CANCELLED and not any(map(is_given_up, behind))):
            return False
        ended = {entry.command for entry in run.inbox if entry.kind in ENDS}
        asked = {entry.command for entry in entries[:mark] if entry.kind == "ask"}  # their ends are the answers
        come, again = _of_step(behind, open_before(entries, mark), ended, asked, wanted=wanted)
        run.history, run.state, run.error, run.suspended = run.history[:mark], "running", None, False
        come += [end for number in again if (end := self._restore(run, run.begun[number])) is not None]
        run.inbox = come + run.inbox
        run.ready = bool(run.inbox) or not again or mark == 0
        return True

    def _restore(self, run: MemoryRun, was: Begun) -> Entry | None:
        """Begin again what a command has begun. Returns its end if it has ended, or cannot begin."""
        begun = replace(was, run=run)
        run.begun[begun.number] = run.open[begun.number] = begun
        child = was.child
        if child is None:
            self._start(begun)
            return None
        other = self._newest(child.instance)
        if child.state == "succeeded":
            del run.open[begun.number]
            return child.ended(begun.number)
        if other is not None and other is not child and other.state == "running":
            del run.open[begun.number]
            why = f"its instance {child.instance} has a newer run that has not ended"
            return Entry("failed", command=begun.number, state="cancelled", reason=why)
        child.parent = begun
        if child.state == "running":
            child.inbox = [entry for entry in child.inbox if not is_given_up(entry)]
        elif not self._go_on(child, wanted=True):
            child.start_over()
        return None

    def _reset(self, run: MemoryRun, entry: int, reason: str) -> MemoryRun:
        """Begin a new run with the history before the step of an entry, and end this one. Raises ResetRefused."""
        entries = run.entries()
        mark = mark_of(entries, entry)
        if mark < 0:
            raise ResetRefused(id=run.id, reason=f"its history has no entry {entry}")
        had_ended = run.state != "running"
        open_then, found = open_before(entries, mark), []
        for event in (*entries[mark:], *run.inbox):
            if event.kind == "signal" or (event.kind in ENDS and event.command in open_then):
                found.append(event)
                open_then.pop(event.command, None)
        new = self._new_run(run.instance, run)
        new.history, new.status, new.origin = run.history[:mark], run.status, run.origin or run.id
        kept = {number for number in run.begun if any(each.command == number for each in entries[:mark])}
        new.begun = {number: run.begun[number] for number in kept}
        self._give_parent(run, new)
        for number in sorted(open_then):
            if begun := run.open.pop(number, None):
                begun.run, new.open[number] = new, begun
            elif (end := self._restore(new, run.begun[number])) is not None:
                found.append(end)
        new.inbox, run.inbox, run.next = found, [], new.id
        if not had_ended:
            run.reason = reason
            self._close(run, "cancelled")
        return new

    @staticmethod
    def _give_parent(run: MemoryRun, new: MemoryRun) -> None:
        """A parent that has taken the end of the run does not wait for the new one."""
        if run.parent is not None and run.parent.is_open:
            new.parent, run.parent.child = run.parent, new
        run.parent = None


def _of_step(
    behind: Sequence[Entry], open_then: Mapping[int, Entry], ended: set[int], asked: set[int], *, wanted: bool
) -> tuple[list[Entry], list[int]]:
    """What a step is made with again: events that come again, and numbers of commands that begin again, in order."""
    come: list[Entry] = []
    again: list[int] = []
    for entry in behind:
        was = open_then.get(entry.command)
        has_failed = entry.kind == "failed" and was is not None and was.kind in TASKS and entry.command not in asked
        if entry.kind == "drop" or has_failed:
            if was is not None and entry.command not in ended:
                again.append(entry.command)
                ended.add(entry.command)
        elif entry.kind in ENDS or entry.kind == "signal":
            come.append(entry)
            ended.add(entry.command)
        elif entry.kind == "cancel" and not (wanted and is_given_up(entry)):
            come.append(entry)
    return come, again + sorted(set(open_then) - ended)
