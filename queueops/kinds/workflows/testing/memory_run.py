"""Run in memory of the test environment: its history, its inbox, and the commands that it has begun."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from queueops.kinds.workflows import events
from queueops.kinds.workflows.events import Entry
from queueops.model.contracts import Push
from queueops.worker.execution import failure

GIVEN_UP = "its parent does not need it any more"
UNNEEDED = "its workflow does not need it any more"
ENDS = frozenset({"done", "failed", "fired"})
TASKS = frozenset({"call", "child", "timer"})
"""Commands that begin something, which can begin again."""


@dataclass(slots=True, eq=False)
class Begun:
    """What a command of a run has begun: an activity, a timer, or a child with its newest run."""

    run: MemoryRun
    entry: Entry
    push: Push | None = None
    child: MemoryRun | None = None
    is_asked: bool = False
    """Whether the run has asked it to end, and waits for that."""
    on_end: str = ""
    """What becomes of the child if the run does not need it any more; empty: a cancel."""

    @property
    def number(self) -> int:
        """The number of the command."""
        return self.entry.command

    @property
    def is_open(self) -> bool:
        """Whether the run waits for its end. What began again is another object."""
        return self.run.open.get(self.number) is self


@dataclass(slots=True, eq=False)
class MemoryRun:
    """A run in memory."""

    id: str
    instance: str
    push: Push
    parent: Begun | None = None
    given_up: Begun | None = None
    """The command of its parent that began it, if its parent has given it up."""
    left_by: MemoryRun | None = None
    history: list[bytes] = field(default_factory=list)
    inbox: list[Entry] = field(default_factory=list)
    open: dict[int, Begun] = field(default_factory=dict)
    begun: dict[int, Begun] = field(default_factory=dict)
    ready: bool = True
    delayed: bool = False
    state: str = "running"
    result: bytes = b""
    error: BaseException | None = None
    status: bytes = b""
    next: str = ""
    origin: str = ""
    reason: str = "its code ended by a cancel"
    suspended: bool = False

    @property
    def makes_step(self) -> bool:
        """Whether its next step can be made now."""
        return self.ready and self.state == "running" and not (self.suspended or self.delayed)

    def is_given_up_before(self, run: MemoryRun) -> bool:
        """Whether it is a child that an earlier run of the same instance has given up."""
        before = self.left_by if self.parent is None else None
        return before is not None and before is not run and before.instance == run.instance

    def entries(self) -> list[Entry]:
        """Its history."""
        return [events.decode(text) for text in self.history]

    def start_over(self) -> None:
        """Forget all that it has done."""
        self.history, self.inbox, self.open, self.begun = [], [], {}, {}
        self.result, self.error, self.status = b"", None, b""
        self.state, self.ready, self.suspended = "running", True, False

    def ended(self, number: int) -> Entry:
        """Its end, as an event for the run that waits for it."""
        if self.state == "succeeded":
            return Entry("done", command=number, payload=events.raw(self.result))
        error = b"" if self.error is None else failure.describe(self.error).encoded()
        reason = "" if error else self.reason
        return Entry("failed", command=number, state=self.state, reason=reason, error=events.raw(error))


def failed(number: int, error: BaseException) -> Entry:
    """The end of a command that failed with an error."""
    return Entry("failed", command=number, error=msgspec.Raw(failure.describe(error).encoded()))


def mark_of(entries: Sequence[Entry], number: int) -> int:
    """The position of the mark of the step that has an entry, numbered from 1; -1 if there is no such entry."""
    if not 1 <= number <= len(entries):
        return -1
    return next((at for at in range(number - 1, -1, -1) if entries[at].kind == events.STEP), -1)


def open_before(entries: Sequence[Entry], position: int) -> dict[int, Entry]:
    """The commands before a position that have no end there, by number."""
    found: dict[int, Entry] = {}
    for entry in entries[:position]:
        if entry.kind in TASKS or entry.kind == "tell":
            found[entry.command] = entry
        elif entry.kind in ENDS or entry.kind == "drop":
            found.pop(entry.command, None)
    return found


def is_given_up(entry: Entry) -> bool:
    """Whether this event is the cancel of a child by its parent."""
    return entry.kind == "cancel" and entry.reason == GIVEN_UP
