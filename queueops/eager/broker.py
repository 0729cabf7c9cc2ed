"""Eager broker: what producers and handles call of a broker, in memory. Kinds add their own calls and steps."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, cast
from unittest import mock

import msgspec
from asgiref.sync import sync_to_async

from queueops import conf
from queueops.eager.execution import SilentChannel, run
from queueops.eager.running import RunningTasks
from queueops.errors.kinds import NeedsStore
from queueops.model import kinds
from queueops.model.contracts import Conflict, Lease, LeaseRef, Outcome, Push, Pushed, Row, Settlement
from queueops.model.fields import KERNEL_FIELDS
from queueops.model.records import Record
from queueops.model.states import CONTAINERS, State, states_allowing
from queueops.redis import broker as brokers
from queueops.redis.keys import Keys
from queueops.results import waiting
from queueops.results.handle import TaskHandle
from queueops.tasks import registry

MAX_STARTS = 1_000
AT_REST = (State.WAITING, State.IDLE)
"""States of a task that waits for other tasks. A push does not replace it."""
_OF_A_LEASE = set(Lease.__struct_fields__) & set(Record.__struct_fields__) - {"attempt", "own"}
"""The fields of a lease that are copied from the record."""


def eager_class() -> type[EagerBroker]:
    """The class of eager brokers, with what the registered kinds bring. Raises BadKind."""
    from queueops.eager.follow_ups import EagerFollowUps  # a subclass of the broker below

    bases = (*kinds.roles("eager"), EagerFollowUps, EagerBroker)
    return cast("type[EagerBroker]", type("EagerBroker", bases, {"__doc__": EagerBroker.__doc__}))


async def _here(call: Callable[[], Any]) -> Any:
    """Run in the test's own thread, with its database transaction, what async code leaves to a thread."""
    return await sync_to_async(call)()


class EagerBroker:
    """The broker's methods for producers and handles, in memory. `records` holds every task, in order.

    A kind brings a subclass. Each step that it replaces is that of its own records; the others it leaves to `super()`.
    """

    runs_here = True

    def __init__(self) -> None:
        self.running = RunningTasks()
        self.settings = conf.current()
        self.records: dict[tuple[str, str], Record] = {}
        self._number = 0
        self._logs: dict[tuple[str, str], list[bytes]] = {}
        self._following: dict[tuple[str, str], Push] = {}

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Replace the store in this block."""
        with (
            brokers.in_place_of_store(self),
            mock.patch.object(waiting, "in_thread", _here),
            mock.patch.object(TaskHandle, "in_memory", self),
        ):
            yield

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse a call that only a store can answer. Raises NeedsStore."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise NeedsStore(what=f"This call ({name})")

    def push(self, pushes: Sequence[Push], *, durable: bool = False, under: LeaseRef | None = None) -> list[Pushed]:
        """Run the tasks, one after the other."""
        return [self._push(push) for push in pushes]

    def pushes(self, pool: str, *, durable: bool = False, under: LeaseRef | None = None) -> _EagerPushes:
        """Run the tasks, batch by batch."""
        return _EagerPushes(self)

    def done_channel(self, pool: str, task_id: str) -> str:
        """The channel on which the end of a task would be published."""
        return Keys(self.settings.namespace, pool).done(task_id)

    def record(self, pool: str, task_id: str) -> Record | None:
        """The record of a task, or None."""
        return self.records.get((pool, task_id))

    def find(self, task_id: str) -> tuple[str, Record] | None:
        """The pool that holds this id, and its record."""
        return next(((pool, record) for (pool, key), record in self.records.items() if key == task_id), None)

    def log(self, pool: str, task_id: str) -> list[bytes]:
        """The attempts of a task that failed."""
        return self._logs.get((pool, task_id), [])

    def last(self, pool: str, task_id: str) -> Record | None:
        """None, because no caller waits for an end while another generation begins."""
        return None

    def wait(self, pool: str, task_id: str, uid: int = 0, *, after: bool = False) -> str:
        """The state now."""
        record = self.record(pool, task_id)
        if record is not None and uid and record.uid != uid:
            return "superseded"
        return record.state if record else ""

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
        """Perform an operator's action; here only `retry` and `cancel` have an effect."""
        with self.in_place():  # a handle may be used after the block
            return [self._control(verb, self.record(pool, task_id), task_id, str(value), hard) for task_id in ids]

    def _control(self, verb: str, record: Record | None, task_id: str, value: str, hard: bool) -> Row:
        if record is None:
            return Row(task_id, "GONE", "")
        if verb == "cancel" and record.state in states_allowing(verb):
            self.cancel(record, value, hard)
            return Row(task_id, "OK", record.state)
        if record.state not in states_allowing(verb) or verb != "retry" or record.kind in CONTAINERS:
            return Row(task_id, "REFUSED", record.state, "tasks have ended when they are eager")
        self.run_again(record)
        return Row(task_id, "OK", record.state)

    # The steps of a task, which kinds extend

    def cancel(self, record: Record, reason: str, hard: bool) -> None:
        """Cancel the running task."""
        self.running.cancel(record.pool, record.id, reason, hard=hard)

    def is_replaceable(self, known: Record) -> bool:
        """Whether a push may replace a task that has not ended."""
        return known.state not in AT_REST

    def made(self, push: Push) -> Record:
        """Create the record of a push."""
        self._number += 1
        self.running.forget(push.pool, push.id)
        self._logs.pop((push.pool, push.id), None)
        record = recorded(push, self._number)
        self.records[push.pool, push.id] = record
        return record

    def settle(self, record: Record, end: Settlement) -> None:
        """End an attempt."""
        _settle(record, end)
        if end.outcome in (Outcome.ERROR, Outcome.TIMEOUT):
            line = {"k": "error", "begun": record.begun, "worker": record.worker, "error": end.value.decode()}
            self._logs.setdefault((record.pool, record.id), []).append(msgspec.json.encode(line))

    def succeeded(self, record: Record) -> None:
        """An attempt has succeeded: it is the end of the task, if the kind of the task has no further step."""

    def at_end(self, record: Record) -> None:
        """The task has ended."""

    def resumes(self, record: Record) -> bool:
        """Prepare a retry of an ended task. False: the kind has run it again itself, or it has nothing to run."""
        return True

    # How the steps follow each other

    def run_again(self, record: Record) -> None:
        """Run an ended task again."""
        self.running.forget(record.pool, record.id)
        record.attempt, record.result, record.error = 0, b"", b""
        self._logs.pop((record.pool, record.id), None)
        if self.resumes(record):
            self.run(record)

    def run(self, record: Record) -> None:
        """Run a task to its end, and what follows it."""
        self._run_to_its_end(record)
        self.at_end(record)
        if not self.is_replaced(record) and (push := self._following.pop((record.pool, record.id), None)) is not None:
            self._push(push)

    def is_replaced(self, record: Record) -> bool:
        """Whether a later push has replaced this task. The end of a replaced task is ignored."""
        return self.records.get((record.pool, record.id)) is not record

    def _push(self, push: Push) -> Pushed:
        known, word = self.record(push.pool, push.id), "OK"
        if known is not None and not known.is_over:
            word = self._word(push, known)
            if word != "REPLACED":
                return Pushed(push.id, known.uid, word)
        registry.get(push.kind, push.name)
        record = self.made(push)
        self.run(record)
        return Pushed(push.id, record.uid, word, record.created if word == "OK" else 0)

    def _word(self, push: Push, known: Record) -> str:
        """Effect of a push if a task with its id has not ended, by the conflict policy of the push."""
        if push.conflict is Conflict.REJECT:
            return "REJECTED"
        if push.conflict is Conflict.RUN_AFTER:
            self._following[push.pool, push.id] = push
            return "AFTER"
        return "REPLACED" if push.conflict is Conflict.REPLACE and self.is_replaceable(known) else "EXISTS"

    def _run_to_its_end(self, record: Record) -> None:
        for fence in range(1, MAX_STARTS + 1):
            if self.running.ends(record):
                return
            record.state, record.fence, record.begun = State.LOCKED, fence, _now()
            self.settle(record, run(_lease(record), _Progress(record), self.running))
            if record.state == State.SUCCEEDED:
                self.succeeded(record)
            if record.is_over or self.is_replaced(record):
                return
        raise AssertionError(f"the task {record.id} restarts itself for ever")


class _EagerPushes:
    """A pipeline whose batches run when they are sent."""

    def __init__(self, broker: EagerBroker) -> None:
        self._broker = broker
        self._pushed: deque[list[Pushed]] = deque()

    def send(self, pushes: Sequence[Push]) -> None:
        self._pushed.append(self._broker.push(pushes))

    def receive(self) -> list[Pushed]:
        return self._pushed.popleft()

    def close(self) -> None:
        """Nothing to close: the eager broker has no connection."""


class _Progress(SilentChannel):
    """The channel of an eager task."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def progress(self, lease: Lease, done: float, total: float | None) -> None:
        """Store the progress in the record."""
        self._record.progress = done
        if total is not None:
            self._record.total = total


def recorded(push: Push, number: int) -> Record:
    """The record of a push, with this generation."""
    same = ("id", "name", "pool", "kind", "lane", "priority", "args", "retries", "retry", "tags", "root", "meta")
    values = {name: getattr(push, name) for name in same}
    record = Record(state=State.PENDING, uid=number, created=_now(), timeout=push.timeout_ms, worker="eager", **values)
    for short, value in push.own:
        if short in KERNEL_FIELDS:
            setattr(record, KERNEL_FIELDS[short].name, float(value) if short in ("to", "pr") else value)
        else:
            record.own[kinds.fields()[short].name] = value
    return record


def _lease(record: Record) -> Lease:
    values = {name: getattr(record, name) for name in _OF_A_LEASE}
    return Lease(
        attempt=record.attempt + 1,
        timeout_ms=record.timeout,
        begun_ms=record.begun or 0,
        created_ms=record.created,
        own=dict(record.own),
        received=time.monotonic(),
        **values,
    )


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
    record.ended = _now() if record.is_over else None


def _now() -> int:
    return int(time.time() * 1000)
