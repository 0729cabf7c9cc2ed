"""Eager mode: tasks run at once in the process that pushes them, without a store or a worker."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

import msgspec
from asgiref.sync import sync_to_async

from queueops import conf
from queueops.model.contracts import Conflict, Lease, LeaseRef, Node, Outcome, Push, Pushed, Row, Settlement
from queueops.model.part_refs import PartRef
from queueops.model.records import Record
from queueops.model.states import ACTIONS, CONTAINERS, State
from queueops.redis import broker as brokers
from queueops.redis.keys import Keys
from queueops.results import waiting
from queueops.results.handle import TaskHandle
from queueops.tasks import registry
from queueops.testing.chunks import MAX_STARTS, EagerChunks, take_over
from queueops.testing.execution import SilentChannel, run
from queueops.testing.follow_ups import pushes_after
from queueops.testing.trees import EagerTree, count_tasks, fail_at_end, signal_end

AT_REST = (State.WAITING, State.IDLE)
"""States of a task that waits for other tasks. A push does not replace it."""
_OF_A_LEASE = set(Lease.__struct_fields__) & set(Record.__struct_fields__) - {"attempt"}
"""The fields of a lease that are copied from the record."""


@contextmanager
def eager() -> Iterator[EagerBroker]:
    """Run each task at its push in this block, in all threads of the process. The push returns at the task's end.

    Redis is not used. Attempts follow each other without a delay, postponed tasks do not wait, and timeouts are not
    enforced. A failed task does not fail the push: `handle.result()` raises TaskFailed, as always. Raises UnknownTask
    for a name that is not registered. Handles from this block still work after it.
    """
    broker = EagerBroker()
    with broker.in_place():
        yield broker


async def _here(call: Callable[[], Any]) -> Any:
    """Run in the test's own thread, with its database transaction, what async code leaves to a thread."""
    return await sync_to_async(call)()


class EagerBroker(EagerChunks):
    """The broker's methods for producers and handles, in memory. `records` holds every task, in order."""

    runs_here = True

    def __init__(self) -> None:
        super().__init__()
        self.settings = conf.current()
        self.records: dict[tuple[str, str], Record] = {}
        self._number = 0
        self._logs: dict[tuple[str, str], list[bytes]] = {}
        self._emitted: dict[str, tuple[Sequence[Node], str, bytes]] = {}
        self._batches: dict[str, list[EagerTree]] = {}
        self._trees: list[EagerTree] = []
        self._parts: dict[tuple[str, str], list[Record]] = {}
        self._following: dict[tuple[str, str], Push] = {}

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Replace the store in this block."""
        with (
            mock.patch.object(brokers, "get_broker", return_value=self),
            mock.patch.object(waiting, "in_thread", _here),
            mock.patch.object(TaskHandle, "in_memory", self),
        ):
            yield

    def push(self, pushes: Sequence[Push], *, durable: bool = False, under: LeaseRef | None = None) -> list[Pushed]:
        """Run the tasks, one after the other."""
        return [self._push(push) for push in pushes]

    def pushes(self, pool: str, *, durable: bool = False, under: LeaseRef | None = None) -> _EagerPushes:
        """Run the tasks, batch by batch."""
        return _EagerPushes(self)

    def plant(self, nodes: Sequence[Node], *, durable: bool = False, under: LeaseRef | None = None) -> Pushed:
        """Run a composite, depth first."""
        root = nodes[0].push
        known = self.record(root.pool, root.id)
        if known is not None and not known.is_over:
            return Pushed(root.id, known.uid, "REJECTED" if root.conflict is Conflict.REJECT else "EXISTS")
        return Pushed(root.id, self._run_tree(self._tree(nodes, self._made)).uid, "OK")

    def emit(self, lease: Lease, nodes: Sequence[Node], answer: str, state: bytes) -> None:
        """Take the batch of a running iterator."""
        self._emitted[lease.id] = nodes, answer, state

    def done_channel(self, pool: str, task_id: str) -> str:
        """The channel on which the end of a task would be published."""
        return Keys(self.settings.namespace, pool).done(task_id)

    def record(self, pool: str, task_id: str) -> Record | None:
        """The record of a task, or None."""
        record = self.records.get((pool, task_id))
        for tree in self._trees:
            tree.count(record)
        return record

    def parts(self, pool: str, task_id: str, *, last: bool = False) -> list[PartRef]:
        """The parts of a chain or a group in order, or only the last one."""
        found = self._parts.get((pool, task_id), [])
        references = [PartRef(i, r.pool, r.id, r.kind, r.name, r.on_failure) for i, r in enumerate(found)]
        return references[-1:] if last else references

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
        who: str = "",
        token: str = "",
    ) -> list[Row]:
        """Perform an operator's action; here only `retry` and `cancel` have an effect."""
        with self.in_place():  # a handle may be used after the block
            return [self._control(verb, self.record(pool, task_id), task_id, str(value), hard) for task_id in ids]

    def _control(self, verb: str, record: Record | None, task_id: str, value: str, hard: bool) -> Row:
        if record is None:
            return Row(task_id, "GONE", "")
        if verb == "cancel" and verb in ACTIONS[State(record.state)]:
            self._cancel(record, value, hard)
            return Row(task_id, "OK", record.state)
        if verb not in ACTIONS[State(record.state)] or verb != "retry" or record.kind in CONTAINERS:
            return Row(task_id, "REFUSED", record.state, "tasks have ended when they are eager")
        self._run_again(record)
        return Row(task_id, "OK", record.state)

    def _cancel(self, record: Record, reason: str, hard: bool) -> None:
        """Cancel the running task, and all of its descendants."""
        self.running.cancel(record.pool, record.id, reason, hard=hard)
        below = f"{record.id} was cancelled" + (f": {reason}" if reason else "")
        for tree in self._trees:
            for part in tree.below(record):
                self.running.cancel(part.pool, part.id, below, hard=hard)

    def _tree(self, nodes: Sequence[Node], made: Callable[[Push], Record]) -> EagerTree:
        tree = EagerTree(nodes, made, self._run_part, self.running)
        self._parts |= {(whole.pool, whole.id): parts for whole, parts in tree.composites()}
        return tree

    def _run_tree(self, tree: EagerTree, *, failed: bool = False) -> Record:
        self._trees.append(tree)
        try:
            root = tree.run_failed() if failed else tree.run()
        finally:
            self._trees.remove(tree)
        for whole, _ in tree.composites():
            if whole.kind in CONTAINERS:  # its other tasks have run, and were followed
                self._follow_up(whole)
        return root

    def _run_again(self, record: Record) -> None:
        self.running.forget(record.pool, record.id)
        record.attempt, record.result, record.error = 0, b"", b""
        self._logs.pop((record.pool, record.id), None)
        if record.kind == "iterator":
            self._run_failed(record)
        elif record.kind != "mapreduce" or self._take_up(record):
            self._run(record)

    def _run_part(self, record: Record) -> None:
        if record.begun:
            self._run_again(record)
        else:
            self._run(record)

    def _push(self, push: Push) -> Pushed:
        known, word = self.record(push.pool, push.id), "OK"
        if known is not None and not known.is_over:
            word = self._word(push, known)
            if word != "REPLACED":
                return Pushed(push.id, known.uid, word)
        registry.get(push.kind, push.name)
        record = self._made(push)
        self._run(record)
        return Pushed(push.id, record.uid, word, record.created if word == "OK" else 0)

    def _word(self, push: Push, known: Record) -> str:
        """Effect of a push if a task with its id has not ended, by the conflict policy of the push."""
        if push.conflict is Conflict.REJECT:
            return "REJECTED"
        if push.conflict is Conflict.RUN_AFTER:
            self._following[push.pool, push.id] = push
            return "AFTER"
        is_part = any(known is part for parts in self._parts.values() for part in parts)
        replaces = push.conflict is Conflict.REPLACE and known.state not in AT_REST and not is_part
        return "REPLACED" if replaces else "EXISTS"

    def _made(self, push: Push) -> Record:
        self._number += 1
        self._batches.pop(push.id, None)
        self.running.forget(push.pool, push.id)
        self._logs.pop((push.pool, push.id), None)
        record = _recorded(push, self._number)
        self.records[push.pool, push.id] = record
        return record

    def _go_on(self, record: Record) -> None:
        """Run the tasks that an iterator emitted; then call it again, unless it has ended."""
        nodes, answer, state = self._emitted.pop(record.id)
        batches = self._batches.setdefault(record.id, [])
        record.state = State.IDLE
        if nodes:
            batches.append(self._tree(nodes, partial(self._part_of, record)))
            self._run_tree(batches[-1])
            count_tasks(record, [part for batch in batches for part in batch.parts])
        record.cursor = record.cursor if answer == "done" else state
        if self.running.ends(record) or record.state != State.IDLE:
            return
        record.state = State.SUCCEEDED if answer == "done" else State.PENDING
        if answer == "done" and record.children_failed:
            fail_at_end(record)

    def _run_failed(self, record: Record) -> None:
        """Run again the tasks of an iterator that did not succeed; then it continues from its last state."""
        batches = self._batches.get(record.id, [])
        record.state, record.reason = State.PENDING, ""
        for batch in batches:
            self._run_tree(batch, failed=True)
        count_tasks(record, [part for batch in batches for part in batch.parts])
        if not record.is_over:
            self._run(record)

    def _part_of(self, iterator: Record, push: Push) -> Record:
        """A task that an iterator emitted. The group of a batch has the iterator's id and policy, and is not stored."""
        if push.id != iterator.id:
            return self._made(push)
        whole = _recorded(push, 0)
        whole.on_failure = iterator.on_failure
        return whole

    def _run(self, record: Record) -> None:
        self._run_to_its_end(record)
        if record.kind == "iterator":
            signal_end(record)
        self._follow_up(record)
        if not self._is_replaced(record) and (push := self._following.pop((record.pool, record.id), None)) is not None:
            self._push(push)

    def _follow_up(self, record: Record) -> None:
        if record.is_over and not self._is_replaced(record):
            for push in pushes_after(record):
                self._push(push)

    def _is_replaced(self, record: Record) -> bool:
        """Whether a later push has replaced this task. The end of a replaced task is ignored."""
        return self.records.get((record.pool, record.id)) is not record

    def _run_to_its_end(self, record: Record) -> None:
        for fence in range(1, MAX_STARTS + 1):
            if self.running.ends(record):
                return
            record.state, record.fence, record.begun = State.LOCKED, fence, _now()
            self._settle(record, run(_lease(record), _Progress(record), self.running))
            if record.kind == "mapreduce" and not record.phase and record.state == State.SUCCEEDED:
                self._process(record)
            if record.kind == "iterator" and record.state == State.SUCCEEDED:
                self._go_on(record)
            if record.is_over or self._is_replaced(record):
                return
        raise AssertionError(f"the task {record.id} restarts itself for ever")

    def _settle(self, record: Record, end: Settlement) -> None:
        _settle(record, end)
        if end.outcome in (Outcome.ERROR, Outcome.TIMEOUT):
            line = {"k": "error", "begun": record.begun, "worker": record.worker, "error": end.value.decode()}
            self._logs.setdefault((record.pool, record.id), []).append(msgspec.json.encode(line))


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


def _recorded(push: Push, number: int) -> Record:
    same = ("id", "name", "pool", "kind", "lane", "priority", "args", "retries", "retry", "tags", "root", "meta")
    values = {name: getattr(push, name) for name in same}
    record = Record(state=State.PENDING, uid=number, created=_now(), timeout=push.timeout_ms, worker="eager", **values)
    take_over(record, push.own)
    return record


def _lease(record: Record) -> Lease:
    values = {name: getattr(record, name) for name in _OF_A_LEASE}
    return Lease(
        attempt=record.attempt + 1,
        timeout_ms=record.timeout,
        begun_ms=record.begun or 0,
        created_ms=record.created,
        received=time.monotonic(),
        **values,
    )


def _settle(record: Record, end: Settlement) -> None:
    """The transitions of the scripts, without delays."""
    match end.outcome:
        case Outcome.SUCCESS:
            record.state, record.result = State.SUCCEEDED, end.value
            if record.total is not None and record.kind != "iterator":
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
