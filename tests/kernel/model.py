"""The kernel in plain Python: what each call must answer and leave behind. Time moves only where a test says so."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from queueops.model import states
from queueops.model.contracts import Conflict, Lease, Outcome, Push

TERMINAL = ("succeeded", "failed", "cancelled")
TIMED = ("postponed", "restart")
MAX_CRASHES = 2


@dataclass(kw_only=True)
class Task:
    """A task as the model knows it. ``fence`` None: no lease that was ever given is valid."""

    push: Push
    state: str
    number: int
    lane: str
    priority: int
    attempts: int = 0
    crashes: int = 0
    fence: int | None = None
    worker: str = ""
    cancel: str = ""
    next: Push | None = None
    handed: bool = False
    token: str = ""
    is_due_later: bool = False

    @property
    def place(self) -> tuple[int, int, str]:
        """Its place in its lane."""
        return -self.priority, self.number, self.push.id


@dataclass(kw_only=True)
class Lane:
    """What an operator has set on a lane."""

    limit: int | None = None
    paused: bool = False
    tokens: int | None = None  # None: its starts are not rated


@dataclass
class Model:
    """All tasks, the deleted ones, those whose record was destroyed, the lanes, and what is due."""

    tasks: dict[str, Task] = field(default_factory=dict)
    trash: dict[str, Task] = field(default_factory=dict)
    broken: dict[str, Task] = field(default_factory=dict)
    garbage: set[str] = field(default_factory=set)
    lanes: dict[str, Lane] = field(default_factory=dict)
    due: set[str] = field(default_factory=set)
    delayed: set[str] = field(default_factory=set)
    paused: set[str] = field(default_factory=set)  # names
    count: int = 0

    # Producing

    def push(self, batch: Sequence[Push]) -> list[str]:
        """The words for a batch: free ids first, then the others, and those of lost records, in order."""
        words: dict[int, str] = {}
        for index, push in enumerate(batch):
            if push.id not in self.tasks and push.id not in self.broken:
                self.create(push)
                words[index] = "OK"
        for index, push in enumerate(batch):
            if index not in words:
                words[index] = self.displace(push)
        return [words[index] for index in range(len(batch))]

    def displace(self, push: Push) -> str:
        """Push on an id that is in use."""
        if push.id in self.garbage:
            return "REJECTED"
        if push.id in self.broken:
            self.create(push)
            return "OK"
        old = self.tasks[push.id]
        if push.conflict is Conflict.NEW:
            return "REPEAT"
        if old.state in TERMINAL:
            self.create(push)
            return "OK"
        if push.conflict is Conflict.REJECT:
            return "REJECTED"
        if push.conflict is Conflict.DEBOUNCE and old.state in ("postponed", "pending"):
            self.create(push)
            return "REPLACED"
        if push.conflict in (Conflict.RUN_AFTER, Conflict.DEBOUNCE):
            old.next = push
            return "AFTER"
        postponed_only = push.conflict is Conflict.REPLACE_POSTPONED
        replaceable = ("postponed",) if postponed_only else ("pending", "postponed", "restart", "locked")
        if (postponed_only or push.conflict is Conflict.REPLACE) and old.state in replaceable:
            self.create(push)
            return "REPLACED"
        return "EXISTS"

    def create(self, push: Push) -> None:
        """A new generation of an id."""
        self.count += 1
        self.due.discard(push.id)
        self.broken.pop(push.id, None)
        state = "postponed" if push.delay_ms else "pending"
        self.tasks[push.id] = Task(push=push, state=state, number=self.count, lane=push.lane, priority=push.priority)
        self.tasks[push.id].is_due_later = state == "postponed"

    # Working

    def may_be_handed(self, push: Push) -> bool:
        """Whether a push goes straight to a worker that waits, if one does."""
        free = push.id not in self.tasks and push.id not in self.broken
        lanes = {task.lane for task in self.tasks.values()}
        return (
            not push.delay_ms
            and free
            and push.name not in self.paused
            and self.lanes.get(push.lane, Lane()) == Lane()
            and not any(map(self.claimable, lanes))
        )

    def hand(self, lease: Lease, worker: str) -> None:
        """It was claimed for a worker when it was pushed."""
        task = self.tasks[lease.id]
        assert (lease.attempt, lease.crashes, lease.name) == (1, 0, task.push.name)
        task.state, task.fence, task.worker, task.handed = "locked", lease.fence, worker, True

    def judge(self, task_id: str, fence: int) -> str:
        """What a write under this fence is answered; OK when the lease is good."""
        task = self.tasks.get(task_id)
        if task is None:
            return "GONE"
        if task.fence != fence:
            return "STALE"
        return "OK" if task.state == "locked" else "REPEAT"

    def settle(self, task_id: str, fence: int, outcome: Outcome, delay_ms: int, counted: bool) -> str:
        """The end of a lease."""
        word = self.judge(task_id, fence)
        if word == "OK":
            self.end(self.tasks[task_id], outcome, delay_ms, counted)
        return word

    def end(self, task: Task, outcome: Outcome, delay_ms: int = 0, counted: bool = False) -> None:
        """What follows from an outcome."""
        self.due.discard(task.push.id)
        if outcome is Outcome.SUCCESS:
            self.finish(task, "succeeded")
        elif outcome is Outcome.CANCEL:
            self.finish(task, "cancelled")
        elif outcome is Outcome.QUARANTINE:
            task.state = "quarantined"
        elif outcome is Outcome.CRASH:
            task.crashes += 1
            self.try_again(task, task.crashes >= MAX_CRASHES, "restart")
        elif outcome in (Outcome.ERROR, Outcome.TIMEOUT):
            task.attempts += not task.cancel
            self.try_again(task, delay_ms < 0 or task.attempts > task.push.retries, "restart")
        elif task.cancel:
            self.finish(task, "cancelled")
        elif outcome is Outcome.RELEASE:
            task.state, task.number = "pending", 0
        else:
            counted = counted and outcome is Outcome.RESTART
            task.attempts += counted
            self.try_again(task, counted and task.attempts > task.push.retries, "postponed")

    def try_again(self, task: Task, was_last: bool, state: str) -> None:
        """The next attempt, if there is one."""
        if task.cancel:
            self.finish(task, "cancelled")
        elif was_last:
            self.finish(task, "failed")
        else:
            task.state, task.is_due_later = state, True
            self.delayed.add(task.push.id)

    def finish(self, task: Task, state: str) -> None:
        """The end of a generation."""
        task.state = state
        self.due.discard(task.push.id)
        if task.next:
            self.create(task.next)

    def newly_delayed(self) -> list[str]:
        """The tasks that were delayed since this was asked last, and still are."""
        delayed = [key for key in self.delayed - self.due if key in self.tasks and self.tasks[key].state in TIMED]
        self.delayed.clear()
        return delayed

    def act_on_due(self, limit: int) -> None:
        """What is due happens, in the order of the agenda."""
        for task_id in sorted(self.due)[:limit]:
            self.due.discard(task_id)
            if task_id.startswith("~lane:"):
                self.lanes[task_id.removeprefix("~lane:")].tokens = 1
            elif task_id.startswith("~trash:"):
                del self.trash[task_id.removeprefix("~trash:")]
            elif task_id in self.broken:
                self.act_on_broken(task_id)
            elif self.tasks[task_id].state in TIMED:
                self.ready(self.tasks[task_id])
            elif self.tasks[task_id].state == "locked":
                self.tasks[task_id].fence = None
                self.end(self.tasks[task_id], Outcome.RELEASE if self.tasks[task_id].handed else Outcome.CRASH)
            else:
                del self.tasks[task_id]

    def act_on_broken(self, task_id: str) -> None:
        """A record that can't be read is put aside, or forgotten when its task was over."""
        if self.broken[task_id].state in TERMINAL:
            del self.broken[task_id]
            self.garbage.discard(task_id)
        else:
            self.broken[task_id].state = "quarantined"

    def ready(self, task: Task) -> None:
        """Into its lane, behind the others of its priority."""
        self.count += 1
        task.state, task.number, task.is_due_later = "pending", self.count, False
        self.due.discard(task.push.id)

    def claim(self, leases: Iterable[Lease], want: int, worker: str) -> None:
        """Check that what was claimed is what should be, and lease it."""
        leases = list(leases)
        lanes = {task.lane for task in self.tasks.values() if task.state == "pending"}
        available = {lane: self.claimable(lane) for lane in lanes}
        assert len(leases) == min(want, sum(map(len, available.values()))), (leases, available)
        for lane in lanes:
            claimed = [lease.id for lease in leases if lease.lane == lane]
            assert claimed == available[lane][: len(claimed)], f"not in order: {claimed} of {available[lane]}"
        for lease in leases:
            task = self.tasks[lease.id]
            assert (lease.attempt, lease.crashes) == (task.attempts + 1, task.crashes)
            task.state, task.fence, task.worker, task.handed = "locked", lease.fence, worker, False
            if (found := self.lanes.get(task.lane)) and found.tokens is not None:
                found.tokens -= 1

    def claimable(self, lane: str) -> list[str]:
        """What may be claimed from a lane now, in order."""
        found = self.lanes.get(lane, Lane())
        if found.paused:
            return []
        tasks = sorted(
            (t for t in self.tasks.values() if (t.state, t.lane) == ("pending", lane)), key=lambda t: t.place
        )
        tasks = [task for task in tasks if task.push.name not in self.paused]
        free = len(tasks) if found.limit is None else max(0, found.limit - self.active(lane))
        return [task.push.id for task in tasks[: free if found.tokens is None else min(free, found.tokens)]]

    def active(self, lane: str) -> int:
        """How many tasks of a lane run."""
        everything = [*self.tasks.values(), *self.broken.values()]
        return sum(task.state == "locked" and task.lane == lane for task in everything)

    def take_back(self, task: Task, outcome: Outcome | None) -> None:
        """A dead worker's lease is judged, or given back."""
        self.end(task, outcome or Outcome.RELEASE, -1)
        if self.tasks.get(task.push.id) is task:
            task.fence = None

    # Controlling

    def control(self, verb: str, task_id: str, value: str | int) -> str:
        """An operator's action."""
        task = self.tasks.get(task_id)
        if verb == "restore":
            return self.restore(task_id)
        if task is None:
            return self.control_missing(verb, task_id)
        if task.state not in states.states_allowing(verb):
            return "REFUSED"
        if verb not in ("edit", "priority", "move") and (verb, task.state) != ("cancel", "locked"):
            self.due.discard(task_id)  # the others leave its entry on the agenda as it is
        getattr(self, f"do_{verb}")(task, value)
        return "OK"

    def control_missing(self, verb: str, task_id: str) -> str:
        """An action on a task that has no readable record."""
        is_aside = task_id in self.broken and self.broken[task_id].state == "quarantined"
        if verb == "discard" and is_aside:
            del self.broken[task_id]
            self.garbage.discard(task_id)
            return "OK"
        if verb == "delete" and task_id in self.trash:
            return "REPEAT"
        return "REFUSED" if is_aside else "GONE"

    def restore(self, task_id: str) -> str:
        """Out of the trash."""
        if task_id in self.tasks:
            return "REFUSED"
        if task_id not in self.trash:
            return "GONE"
        self.tasks[task_id] = self.trash.pop(task_id)
        self.due.discard(f"~trash:{task_id}")
        return "OK"

    def do_retry(self, task: Task, _: object) -> None:
        """Again from the start, or at once when it is in back-off."""
        if task.state in TERMINAL:
            task.attempts = task.crashes = 0
            task.cancel = ""
        self.do_run_now(task, _)

    def do_reinstate(self, task: Task, _: object) -> None:
        """Where it was when it was cancelled."""
        task.cancel = ""
        if task.is_due_later:
            self.do_postpone(task, _)
        else:
            self.do_run_now(task, _)

    def do_run_now(self, task: Task, _: object) -> None:
        """Ready, whatever it waited for."""
        task.fence = None
        self.ready(task)

    def do_requeue(self, task: Task, _: object) -> None:
        """Out of quarantine; a wish to cancel it is forgotten."""
        task.cancel = ""
        self.do_run_now(task, _)

    def do_release(self, task: Task, _: object) -> None:
        """Taken from its worker; a task that is to be cancelled ends."""
        if task.cancel:
            self.finish(task, "cancelled")
            task.fence = None
        else:
            self.do_run_now(task, _)

    def do_postpone(self, task: Task, _: object) -> None:
        """For later."""
        task.state, task.is_due_later = "postponed", True

    def do_cancel(self, task: Task, reason: str | int) -> None:
        """At once, or a wish to its worker."""
        if task.state == "locked":
            task.cancel = str(reason)
        else:
            self.finish(task, "cancelled")

    def do_edit(self, task: Task, value: str | int) -> None:
        """Other arguments."""
        task.push = copy.copy(task.push)
        task.push.args = b"" if value == "-" else str(value).encode()

    def do_priority(self, task: Task, value: str | int) -> None:
        """Another priority, behind those that have it."""
        self.count += 1
        task.priority = int(value)
        task.number = self.count

    def do_move(self, task: Task, value: str | int) -> None:
        """Another lane, at its end."""
        self.count += 1
        task.lane, task.number = str(value), self.count

    def do_keep(self, task: Task, _: object) -> None:
        """Its retention is another."""

    def set_lane(self, lane: str, limit: int | None, paused: bool, rated: bool) -> None:
        """An operator's; who holds its slots is counted anew. The lane of a lost record is not known any more.

        A rate begins with one token; to set it again gives none.
        """
        had = self.lanes.get(lane, Lane()).tokens
        self.lanes[lane] = Lane(limit=limit, paused=paused, tokens=(1 if had is None else had) if rated else None)
        for task in self.broken.values():
            if task.lane == lane:
                task.lane = ""

    def do_delete(self, task: Task, _: object) -> None:
        """Into the trash."""
        self.trash[task.push.id] = self.tasks.pop(task.push.id)
        self.due.discard(f"~trash:{task.push.id}")

    def do_discard(self, task: Task, _: object) -> None:
        """Gone for good."""
        del self.tasks[task.push.id]

    def destroy(self, task_id: str, *, garbage: bool) -> None:
        """A fault: its record is gone, or is garbage."""
        self.broken[task_id] = self.tasks.pop(task_id)
        if garbage:
            self.garbage.add(task_id)
