"""Eager mode: pushed tasks run at once in the process that pushes them.

A plain task runs in memory. What has parts or consequences needs the functions of the store: composites, map-reduce,
jobs, workflows, follow-ups. It runs on a store of the test's own, which starts when the first of them is pushed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec

from queueops.eager.execution import SilentChannel, run
from queueops.eager.running import RunningTasks
from queueops.errors import ResultTimeout
from queueops.model import kinds
from queueops.model.contracts import Conflict, Lease, LeaseRef, Outcome, Push, Pushed, Row, Settlement
from queueops.model.fields import KERNEL_FIELDS
from queueops.model.ports import Upkeep
from queueops.model.records import Record
from queueops.model.states import TERMINAL, State, states_allowing
from queueops.results.waiting import SUPERSEDED
from queueops.stores import rules
from queueops.tasks import registry
from queueops.testing import eager_store
from queueops.testing.eager_worker import MAX_STARTS, WORKER, EagerWorker
from queueops.testing.memory import MemoryBroker, now_ms


@contextmanager
def eager() -> Iterator[EagerBroker]:
    """Run each task at its push in this block, in all threads of the process. The push returns at the task's end.

    The store of the settings is not used. Attempts follow each other without a delay, postponed tasks do not wait, and
    timeouts are not enforced. A failed task does not fail the push: `handle.result()` raises TaskFailed, as always.
    Raises UnknownTask for a name that is not registered. Handles from this block still work after it.

    Chains, groups, iterators, map-reduce, jobs, follow-ups and workflows run on a store of this process alone: the
    embedded server, or fakeredis. Raises NeedsServer if neither is installed.
    """
    broker = EagerBroker()
    try:
        with broker.in_place():
            yield broker
    finally:
        broker.end()


class EagerBroker(MemoryBroker):
    """Runs plain tasks in memory. `records` holds these, in order. All other calls go to the store of this block."""

    def __init__(self) -> None:
        super().__init__()
        self._running = RunningTasks()
        self._made: EagerWorker | None = None
        self._lock = threading.Lock()
        self._logs: dict[tuple[str, str], list[bytes]] = {}
        self._following: dict[tuple[str, str], Push] = {}

    @property
    def _worker(self) -> EagerWorker:
        """The worker of this block's store; the first use starts the server. Raises NeedsServer."""
        with self._lock:
            if self._made is None:
                self._made = EagerWorker(eager_store.enter(self.settings))
            return self._made

    @property
    def _has_store(self) -> bool:
        return self._made is not None

    @property
    def _store(self) -> Upkeep:
        found: Upkeep = self._worker.broker
        return found

    def end(self) -> None:
        """The block has ended. Its handles still answer until another block needs the store."""
        if self._has_store:
            eager_store.leave(self._store)

    def __getattr__(self, name: str) -> Any:
        """A call of the block's store, after which its worker runs what is ready. Raises NeedsServer."""
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._store, name)
        return partial(self._call, value) if callable(value) else value

    def _call(self, call: Callable[..., Any], *args: Any, under: LeaseRef | None = None, **options: Any) -> Any:
        if under is not None and self._is_stored(under.pool, under.id):
            options["under"] = under
        options.pop("durable", None)  # the server of the test has no replica, and no file
        with self.in_place():  # a handle may be used after the block
            self._worker.channel.send()
            answer = call(*args, **options)
            self._worker.go_on()
        return answer

    def _in_memory(self, pool: str, task_id: str) -> bool:
        known = self.records.get((pool, task_id))
        return known is not None and not (known.is_over and self._is_stored(pool, task_id))

    def _is_stored(self, pool: str, task_id: str) -> bool:
        return self._has_store and self._store.record(pool, task_id) is not None

    def record(self, pool: str, task_id: str) -> Record | None:
        """The record of a task, or None."""
        if self._in_memory(pool, task_id) or not self._has_store:
            return self.records.get((pool, task_id))
        self._worker.channel.send()
        return self._store.record(pool, task_id)

    def find(self, task_id: str) -> tuple[str, Record] | None:
        """The pool that holds this id, and its record."""
        stored = self._store.find(task_id) if self._has_store else None
        return stored or super().find(task_id)

    def log(self, pool: str, task_id: str) -> list[bytes]:
        """The attempts of a task that failed."""
        if self._is_stored(pool, task_id):
            return self._store.log(pool, task_id)
        return self._logs.get((pool, task_id), [])

    def last(self, pool: str, task_id: str) -> Record | None:
        """The previous generation; None in memory, because no caller waits there while another one begins."""
        return self._store.last(pool, task_id) if self._has_store else None

    def wait(self, pool: str, task_id: str, uid: int = 0, *, after: bool = False) -> str:
        """The state at the end. What waits for a time goes on at once. Raises ResultTimeout if nothing can end it."""
        if not self._has_store or self._in_memory(pool, task_id):
            record = self.records.get((pool, task_id))
            return SUPERSEDED if record and uid not in (0, record.uid) else record.state if record else ""
        with self.in_place():
            while True:
                state = self._store.wait(pool, task_id, uid, after=after)
                if state in ("", SUPERSEDED, *TERMINAL):
                    return state
                if not self._worker.step() and not self._worker.pass_time():
                    reason = "In eager() nothing is left to run that could end it."
                    raise ResultTimeout(id=task_id, seconds=0, state=state, reason=reason)

    def control(
        self,
        pool: str,
        verb: str,
        ids: Sequence[str],
        *,
        value: str | int = "",
        hard: bool = False,
        reason: str = "",
        who: str = "",
        token: str = "",
        seen: str = "",
    ) -> list[Row]:
        """Perform an operator's action; in memory only `retry` and `cancel` have an effect."""
        options: dict[str, Any] = {
            "value": value,
            "hard": hard,
            "reason": reason,
            "who": who,
            "token": token,
            "seen": seen,
        }
        rows = []
        for task_id in ids:
            if self._has_store and not self._in_memory(pool, task_id):
                rows += self._call(self._store.control, pool, verb, [task_id], **options)
            else:
                with self.in_place():  # a handle may be used after the block
                    rows.append(self._control(verb, self.records.get((pool, task_id)), task_id, str(value), hard))
        return rows

    def _control(self, verb: str, record: Record | None, task_id: str, value: str, hard: bool) -> Row:
        if record is None:
            return Row(task_id, "GONE", "")
        if record.state not in states_allowing(verb) or verb not in ("cancel", "retry"):
            return Row(task_id, "REFUSED", record.state, "tasks have ended when they are eager")
        if verb == "cancel":
            self._running.cancel(record.pool, record.id, value, hard=hard)
        else:
            self._running.forget(record.pool, record.id)
            self._logs.pop((record.pool, record.id), None)
            record.attempt, record.result, record.error = 0, b"", b""
            self._run(record)
        return Row(task_id, "OK", record.state)

    # Plain tasks, in memory

    def _push(self, push: Push, under: LeaseRef | None) -> Pushed:
        known, word = self.records.get((push.pool, push.id)), "OK"
        if known is not None and not known.is_over:
            word = self._word(push)
            if word != "REPLACED":
                return Pushed(push.id, known.uid, word)
        registry.get(push.kind, push.name)
        if not _is_plain(push) or self._is_stored(push.pool, push.id):
            self.records.pop((push.pool, push.id), None)
            found: list[Pushed] = self._call(self._store.push, [push], under=under)
            return found[0]
        self._running.forget(push.pool, push.id)
        self._logs.pop((push.pool, push.id), None)
        record = self.create(push)
        record.worker = WORKER
        self._run(record)
        return Pushed(push.id, record.uid, word, record.created if word == "OK" else 0)

    def _word(self, push: Push) -> str:
        """Effect of a push if a task with its id is running, by the conflict policy of the push."""
        if push.conflict is Conflict.REJECT:
            return "REJECTED"
        if push.conflict is Conflict.RUN_AFTER:
            self._following[push.pool, push.id] = push
            return "AFTER"
        return "REPLACED" if push.conflict is Conflict.REPLACE else "EXISTS"

    def _run(self, record: Record) -> None:
        """Run a task to its end, and the push that waits for it."""
        self._run_attempts(record)
        if not self._is_replaced(record) and (push := self._following.pop((record.pool, record.id), None)) is not None:
            self._push(push, None)

    def _run_attempts(self, record: Record) -> None:
        for fence in range(1, MAX_STARTS + 1):
            if self._running.ends(record):
                return
            record.state, record.fence, record.begun = State.LOCKED, fence, now_ms()
            self._settle(record, run(rules.lease_of(record), _Progress(record), self._running))
            if record.is_over or self._is_replaced(record):
                return
        raise AssertionError(f"the task {record.id} restarts itself for ever")

    def _settle(self, record: Record, end: Settlement) -> None:
        """End an attempt."""
        _settle(record, end)
        if end.outcome in (Outcome.ERROR, Outcome.TIMEOUT):
            line = {"k": "error", "begun": record.begun, "worker": record.worker, "error": end.value.decode()}
            self._logs.setdefault((record.pool, record.id), []).append(msgspec.json.encode(line))

    def _is_replaced(self, record: Record) -> bool:
        """Whether a later push has replaced this task. The end of a replaced task is ignored."""
        return self.records.get((record.pool, record.id)) is not record


class _Progress(SilentChannel):
    """The channel of a task in memory."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def progress(self, lease: Lease, done: float, total: float | None) -> None:
        """Store the progress in the record."""
        self._record.progress = done
        if total is not None:
            self._record.total = total


def _is_plain(push: Push) -> bool:
    """Whether the end of a task is all that comes of it: it is of no kind with own Lua, and has none of its fields."""
    return push.kind not in kinds.records() and all(short in KERNEL_FIELDS for short, _ in push.own)


def _settle(record: Record, end: Settlement) -> None:
    """The transitions of the scripts, without delays."""
    match end.outcome:
        case Outcome.SUCCESS:
            record.state, record.result = State.SUCCEEDED, end.value
            if record.total is not None:
                record.progress = record.total
        case Outcome.CANCEL:
            record.state, record.reason = State.CANCELLED, end.value.decode()
        case Outcome.ERROR | Outcome.TIMEOUT:
            record.attempt, record.error, record.fingerprint = record.attempt + 1, end.value, end.fingerprint
            over = end.delay_ms < 0 or record.attempt > record.retries
            record.state = State.FAILED if over else State.RESTART
        case Outcome.RESTART:
            record.attempt += end.counted
            record.state = State.FAILED if record.attempt > record.retries and end.counted else State.POSTPONED
        case _:
            record.state, record.reason = State.FAILED, end.value.decode("utf-8", "replace")
    record.ended = now_ms() if record.is_over else None
