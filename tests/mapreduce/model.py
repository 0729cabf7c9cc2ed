"""Map-reduce tasks and their chunks in plain Python: what each call must answer and leave behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from queueops.kinds.mapreduce.states import CHUNKS
from queueops.model import states
from queueops.model.contracts import Lease, Outcome
from tests.mapreduce.held import LEASED, MAX_CRASHES, OPEN, RETRIES, TERMINAL, Chunk, Held, Task, begin_of_key


@dataclass
class Model:
    """All tasks, and those in the trash."""

    tasks: dict[str, Task] = field(default_factory=dict)
    trash: dict[str, Task] = field(default_factory=dict)

    # Looking

    def owner(self, task_id: str) -> Task | None:
        """The task to which the chunks under an id belong."""
        for among in (self.tasks, self.trash):
            if task_id in among and among[task_id].chunks is not None:
                return among[task_id]
        return None

    def chunk(self, task_id: str, number: int) -> Chunk | None:
        owner = self.owner(task_id)
        return owner.chunks.get(number) if owner and owner.chunks else None

    def held(self, lease_id: str) -> Held | None:
        """What a lease is about."""
        task_id, _, rest = lease_id.partition("#")
        if not rest:
            return self.tasks.get(task_id)
        chunk = self.chunk(task_id, int(rest.removesuffix("~")))
        return chunk.twin if chunk and rest.endswith("~") else chunk

    def judge(self, lease: Lease) -> str:
        """What a write under this lease is answered; OK when it is good."""
        held = self.held(lease.id)
        if held is None:
            return "GONE"
        if held.fence != lease.fence:
            return "STALE"
        return "OK" if held.state in ("active", *LEASED) else "REPEAT"

    def claimable(self) -> tuple[set[str], dict[str, list[str]]]:
        """The ids in the tasks' own lane, and the next chunks of each task that gathers, within its limit."""
        plain = {task.id for task in self.tasks.values() if task.state == "pending"}
        chunks: dict[str, list[str]] = {}
        for task in self.tasks.values():
            for chunk in task.of("active", "errored"):
                if chunk.twin and chunk.twin.state == "pending" and task.key_limit is None:
                    plain.add(f"{task.id}#{chunk.number}~")
            if task.state == "aggregating":
                ready = [f"{task.id}#{chunk.number}" for chunk in sorted(task.of("pending"), key=lambda c: c.number)]
                free = len(ready) if task.limit is None else max(0, task.limit - len(task.of("active")))
                chunks[task.id] = ready[:free]
        return plain, chunks

    def useful_again(self, leases: Iterable[Lease]) -> set[str]:
        """Second runs of what was ready, and was claimed just before: they need not have been claimed, too."""
        claimed = {lease.id for lease in leases}
        return {f"{ref}~" for ref in claimed if (chunk := self.held(ref)) and getattr(chunk, "twin", None)}

    # Working

    def push(self, task_id: str, tolerated: int, limit: int | None, key_limit: int | None) -> None:
        """A new run of an id, over whatever was there."""
        self.tasks[task_id] = Task(id=task_id, tolerated=tolerated, limit=limit, key_limit=key_limit)

    def claim(self, leases: Iterable[Lease], want: int, worker: str) -> None:
        leases = list(leases)
        plain, chunks = self.claimable()
        total = len(plain) + sum(len(found) for key, found in chunks.items() if self.tasks[key].key_limit is None)
        found_again, (least, most) = len(self.useful_again(leases)), begin_of_key(self.tasks.values(), chunks)
        low, high = min(want, total + least), min(want, total + most + found_again)
        assert low <= len(leases) <= high, f"{[lease.id for lease in leases]} of {plain} and {chunks}"
        for task_id, expected in chunks.items():
            found = [lease.id for lease in leases if lease.id.startswith(f"{task_id}#") and not lease.id.endswith("~")]
            assert found == expected[: len(found)], f"{found} of {expected}"
        for lease in leases:
            held = self.held(lease.id)
            assert held is not None
            assert held.state == "pending", lease.id
            if not isinstance(held, Task):
                held.state = "active"
            else:
                held.state = "reducing" if held.reduces else "mapping"
                assert lease.phase == ("reduce" if held.reduces else "")
            if "~" not in lease.id:
                assert (lease.attempt, lease.crashes) == (held.attempts + 1, held.crashes)
            held.fence, held.worker = lease.fence, worker

    def begin_map(self, task_id: str) -> int:
        """How many chunks stand when a map begins."""
        task = self.tasks[task_id]
        if task_id in self.trash:
            self.trash[task_id].chunks, self.trash[task_id].written = None, 0
            self.trash[task_id].unfinished = False
        task.chunks = {number: chunk for number, chunk in (task.chunks or {}).items() if number < task.written}
        task.size, task.dropped, task.unfinished = None, 0, True
        return task.written

    def write(self, task_id: str, size: int) -> None:
        """So many chunks stand."""
        task = self.tasks[task_id]
        known = task.chunks or {}
        task.chunks = {number: known.get(number) or Chunk(number=number) for number in range(size)}
        task.written = size

    def end(self, lease_id: str, outcome: Outcome, delay_ms: int = 0, counted: bool = False) -> None:
        """What follows from the end of a valid lease."""
        task_id, _, rest = lease_id.partition("#")
        if not rest:
            self.end_task(self.tasks[task_id], outcome, delay_ms)
        elif rest.endswith("~"):
            self.end_twin(task_id, int(rest[:-1]), outcome)
        else:
            self.end_chunk(task_id, int(rest), outcome, delay_ms, counted)

    def end_task(self, task: Task, outcome: Outcome, delay_ms: int) -> None:
        if outcome is Outcome.SUCCESS:
            self.end_well(task)
        elif outcome is Outcome.CANCEL:
            task.state = "cancelled"
        elif outcome is Outcome.RELEASE:
            task.state = "cancelled" if task.cancel else "pending"
        elif outcome is Outcome.ERROR:
            task.attempts += not task.cancel
            self.try_again(task, task.attempts > RETRIES or delay_ms < 0)
        else:
            task.crashes += 1
            self.try_again(task, task.crashes >= MAX_CRASHES)

    def end_well(self, task: Task) -> None:
        if task.reduces:
            task.state = "succeeded"
        elif task.cancel:
            task.state = "cancelled"
        else:
            task.state, task.size, task.attempts, task.crashes = "aggregating", len(task.chunks or {}), 0, 0
            task.written, task.unfinished = 0, False
            self.gather(task)

    def try_again(self, task: Task, was_last: bool) -> None:
        task.state = "cancelled" if task.cancel else "failed" if was_last else "restart"

    def end_chunk(self, task_id: str, number: int, outcome: Outcome, delay_ms: int, counted: bool) -> None:
        chunk, task = self.chunk(task_id, number), self.tasks.get(task_id)
        assert chunk is not None
        if outcome is Outcome.SUCCESS:
            chunk.state = "done"
        elif outcome is Outcome.RELEASE:
            chunk.state = "pending"
        elif outcome is Outcome.CANCEL:
            gathers = task is not None and task.state == "aggregating"
            chunk.state = "failed" if gathers else "pending"
        elif outcome is Outcome.RESTART and not counted:
            chunk.state = "errored"
        elif outcome is Outcome.CRASH:
            chunk.crashes += 1
            chunk.state = "failed" if chunk.crashes >= MAX_CRASHES else "errored"
        elif outcome is not Outcome.RESTART and task is not None and task.state == "cancelled":
            chunk.state = "pending"
        else:
            chunk.attempts += 1
            most = RETRIES if task else 0  # of a task in the trash the limits are not known
            last = chunk.attempts > most or (outcome is Outcome.ERROR and delay_ms < 0)
            chunk.state = "failed" if last else "errored"
        self.ended(task_id, chunk)

    def end_twin(self, task_id: str, number: int, outcome: Outcome) -> None:
        chunk = self.chunk(task_id, number)
        assert chunk is not None
        assert chunk.twin is not None
        if outcome is Outcome.SUCCESS:
            chunk.state, chunk.fence, chunk.worker = "done", chunk.twin.fence, chunk.twin.worker
        chunk.twin = None
        self.ended(task_id, chunk)

    def ended(self, task_id: str, chunk: Chunk) -> None:
        if chunk.state in ("done", "failed"):
            chunk.twin = None
            if task_id in self.tasks:
                self.gather(self.tasks[task_id], failed=chunk.state == "failed")

    def gather(self, task: Task, *, failed: bool = False) -> None:
        """Whose turn it is, now that chunks have ended."""
        if task.state != "aggregating" or (task.of(*OPEN) and not failed):
            return
        if self.too_many_failed(task):
            task.state = "failed"
        elif not task.of(*OPEN):
            task.state, task.reduces, task.attempts, task.crashes = "pending", True, 0, 0

    def too_many_failed(self, task: Task) -> bool:
        return len(task.of("failed")) - task.dropped > task.tolerated

    # The passing of time

    def act_on_due(self, members: Iterable[str]) -> None:
        for member in members:
            if member.startswith("~trash:"):
                del self.trash[member.removeprefix("~trash:")]
                continue
            held = self.held(member)
            if held is None or held.state in ("pending", "aggregating", "done"):
                continue
            if held.state in ("active", *LEASED):
                held.fence = None
                self.end(member, Outcome.CRASH)
            elif held.state in ("errored", "restart"):
                held.state = "pending"
            elif isinstance(held, Task):
                del self.tasks[member]

    def take_back(self, worker: str, judged: dict[str, Outcome]) -> int:
        """A worker died: some of its leases are judged, the others go back."""
        found = [
            lease_id
            for lease_id, held in self.everything()
            if held.worker == worker and held.state in ("active", *LEASED)
        ]
        for lease_id in found:
            held = self.held(lease_id)
            if held is not None and held.state in ("active", *LEASED):
                self.end(lease_id, judged.get(lease_id, Outcome.RELEASE), -1)
                held.fence = None
        return len(found)

    def everything(self) -> Iterator[tuple[str, Held]]:
        for task in self.tasks.values():
            yield task.id, task
        for task in [*self.tasks.values(), *self.trash.values()]:
            for chunk in (task.chunks or {}).values():
                yield f"{task.id}#{chunk.number}", chunk
                if chunk.twin:
                    yield f"{task.id}#{chunk.number}~", chunk.twin

    # Controlling

    def control(self, verb: str, task_id: str) -> str:
        task = self.tasks.get(task_id)
        if verb == "restore":
            if task is not None or task_id not in self.trash:
                return "REFUSED" if task else "GONE"
            self.tasks[task_id] = self.trash.pop(task_id)
            return "OK"
        if task is None:
            return "REPEAT" if verb == "delete" and task_id in self.trash else "GONE"
        if task.state not in states.states_allowing(verb):
            return "REFUSED"
        getattr(self, f"do_{verb}")(task)
        return "OK"

    def do_cancel(self, task: Task) -> None:
        if task.state in LEASED:
            task.cancel = True
        else:
            task.state = "cancelled"

    def do_release(self, task: Task) -> None:
        if task.cancel:
            task.state = "cancelled"
        else:
            task.state, task.fence = "pending", None

    def do_retry(self, task: Task) -> None:
        if task.state not in TERMINAL:
            task.state, task.fence = "pending", None
        elif task.chunks is None or task.size != len(task.chunks):
            self.map_anew(task)
        elif task.reduces and not self.too_many_failed(task):
            self.reopen(task)
            self.gather(task)
        else:
            self.redo(task, ("failed", "errored"))

    def map_anew(self, task: Task) -> None:
        """Also of what was mapped before."""
        self.reopen(task)
        task.state, task.fence, task.attempts, task.crashes = "pending", None, 0, 0
        task.reduces = task.cancel = False
        task.size = None

    def do_delete(self, task: Task) -> None:
        self.trash[task.id] = self.tasks.pop(task.id)

    # Mending

    def mend(self, task_id: str, verb: str, numbers: Iterable[int]) -> set[int]:
        """Which were changed."""
        task, changed = self.tasks.get(task_id), set()
        if task is None:
            return changed
        for number in numbers:
            chunk = (task.chunks or {}).get(number)
            anyhow = verb in ("edit", "release") and task.size is not None and task.state != "mapping"
            if chunk is None or chunk.state not in CHUNKS.allowing(verb) or not (task.may_be_mended or anyhow):
                continue
            gathers = verb not in ("speculate", "postpone") or task.state == "aggregating"
            if not gathers or (verb == "speculate" and chunk.twin):
                continue
            if verb not in ("edit", "release", "speculate", "postpone"):
                self.reopen(task)
            getattr(self, f"mend_{verb}")(task, chunk)
            changed.add(number)
        if changed:
            self.gather(task)
        return changed

    def reopen(self, task: Task) -> None:
        if task.state == "aggregating":
            return
        task.state, task.fence, task.reduces, task.cancel = "aggregating", None, False, False
        task.attempts = task.crashes = 0

    def mend_retry(self, task: Task, chunk: Chunk) -> None:
        task.dropped -= chunk.dropped
        chunk.state, chunk.fence, chunk.attempts, chunk.crashes, chunk.dropped = "pending", None, 0, 0, False

    mend_redo = mend_set = mend_retry

    def mend_drop(self, task: Task, chunk: Chunk) -> None:
        task.dropped += not chunk.dropped
        chunk.state, chunk.dropped, chunk.twin = "failed", True, None

    def mend_skip(self, task: Task, chunk: Chunk) -> None:
        task.dropped -= chunk.dropped
        chunk.state, chunk.dropped, chunk.twin, chunk.attempts, chunk.crashes = "done", False, None, 0, 0

    def mend_edit(self, task: Task, chunk: Chunk) -> None:
        """Its data is another."""

    def mend_release(self, task: Task, chunk: Chunk) -> None:
        chunk.state, chunk.fence = "pending", None

    def mend_postpone(self, task: Task, chunk: Chunk) -> None:
        """It waits for longer."""

    def mend_speculate(self, task: Task, chunk: Chunk) -> None:
        chunk.twin = Held()

    def mend_all(self, task_id: str, verb: str, state: str) -> int:
        task = self.tasks.get(task_id)
        if task is None or not (
            task.may_be_mended or (verb == "release" and task.size is not None and task.state != "mapping")
        ):
            return 0
        found = task.of(state)
        if not found:
            return 0
        if verb in ("retry", "redo", "set"):
            self.redo(task, (state,))
        elif verb == "drop" and state == "failed":
            self.reopen(task)
            self.mend(task_id, verb, [chunk.number for chunk in found])
            self.gather(task)
        else:
            self.mend(task_id, verb, [chunk.number for chunk in found])
        return len(found)

    def redo(self, task: Task, wanted: Iterable[str]) -> None:
        """All chunks of some states run again."""
        self.reopen(task)
        for chunk in task.of(*wanted):
            task.dropped -= chunk.dropped
            chunk.state, chunk.attempts, chunk.crashes, chunk.dropped = "pending", 0, 0, False
        self.gather(task)

    def restart(self, task_id: str, stage: str, wanted: Iterable[str]) -> str:
        task = self.tasks.get(task_id)
        if task is None:
            return "GONE"
        if stage == "map":
            if task.state in LEASED or not (
                task.reduces or task.unfinished or task.state in ("aggregating", "restart") or task.state in TERMINAL
            ):
                return "REFUSED"
            task.written, task.unfinished = 0, False
            self.map_anew(task)
            return "OK"
        if not task.may_be_mended:
            return "REFUSED"
        if stage == "process":
            self.redo(task, wanted)
            return "OK"
        if task.of(*OPEN) or self.too_many_failed(task):
            return "REFUSED"
        self.reopen(task)
        self.gather(task)
        return "OK"
