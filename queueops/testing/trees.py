"""Composites that run at once: the whole tree within the push."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from queueops import registry
from queueops.contracts import Node, Push
from queueops.records import Record
from queueops.redis.wire import with_first
from queueops.states import State

CONTAINERS = ("chain", "group")
ENDED = (State.SUCCEEDED, State.FAILED)


class EagerTree:
    """One tree, run depth first."""

    def __init__(self, nodes: Sequence[Node], made: Callable[[Push], Record], run: Callable[[Record], None]) -> None:
        for node in nodes:
            if node.push.kind not in CONTAINERS:
                registry.get(node.push.kind, node.push.name)
        self._nodes, self._run = nodes, run
        self._records = [made(node.push) for node in nodes]
        self._children: dict[int, list[int]] = {}
        for number, node in enumerate(nodes):
            self._children.setdefault(node.parent, []).append(number)

    def run(self) -> Record:
        """Run all of it; the root's record."""
        self._go(0, None)
        return self._records[0]

    def run_failed(self) -> None:
        """Run the parts again that did not succeed, each as a whole."""
        for number in self._children[0]:
            if self._records[number].state != State.SUCCEEDED:
                self._go(number, None)

    @property
    def parts(self) -> list[Record]:
        """The records of what the root is made of."""
        return [self._records[number] for number in self._children[0]]

    def _go(self, number: int, previous: bytes | None) -> Record:
        push, record = self._nodes[number].push, self._records[number]
        record.attempt, record.error, record.fingerprint, record.reason = 0, b"", "", ""
        own = dict(push.own)
        given = None if own.get("si") else previous
        if push.kind == "chain":
            self._chain(number, record, given)
        elif push.kind == "group":
            self._group(number, record, given, record.on_failure or "fail")
        else:
            record.args = push.args if given is None else with_first(push.args, given)
            self._run(record)
        if push.kind in CONTAINERS:
            record.progress = self._leaves_ended(number)
        return record

    def _leaves_ended(self, number: int) -> float:
        """As in the store: all of what succeeded, else those that succeeded or failed."""
        record = self._records[number]
        if record.state == State.SUCCEEDED and record.total is not None:
            return record.total
        parts = [self._records[child] for child in self._children[number]]
        return sum((part.progress or 0) if part.kind in CONTAINERS else part.state in ENDED for part in parts)

    def _chain(self, number: int, record: Record, previous: bytes | None) -> None:
        for position, child in enumerate(self._children[number]):
            ended = self._go(child, previous)
            if ended.state != State.SUCCEEDED:
                _fail(record, ended)
                for rest in self._children[number][position + 1 :]:
                    self._cancel(rest, record)
                return
            previous = ended.result
        record.state, record.result = State.SUCCEEDED, previous or b""

    def _group(self, number: int, record: Record, previous: bytes | None, policy: str) -> None:
        ended: list[Record] = []
        for position, child in enumerate(self._children[number]):
            ended.append(self._go(child, previous))
            if ended[-1].state != State.SUCCEEDED and policy == "fail":
                for rest in self._children[number][position + 1 :]:
                    self._cancel(rest, record)
                break
        failed = [each for each in ended if each.state != State.SUCCEEDED]
        if failed and policy != "outcomes":
            _fail(record, failed[0])
            if policy == "continue":
                record.reason = f"{len(failed)} of its {len(ended)} children failed; the first: {record.reason}"
            return
        pieces = [_outcome(each) if policy == "outcomes" else each.result or b"null" for each in ended]
        record.state, record.result = State.SUCCEEDED, b"[" + b",".join(pieces) + b"]"

    def _cancel(self, number: int, parent: Record) -> None:
        self._records[number].state, self._records[number].reason = State.CANCELLED, f"{parent.id} failed"
        for child in self._children.get(number, ()):
            self._cancel(child, parent)


def _fail(record: Record, child: Record) -> None:
    record.state, record.error, record.fingerprint = State.FAILED, child.error, child.fingerprint
    record.reason = _reason(child)


def _reason(child: Record) -> str:
    word = "was cancelled" if child.state == State.CANCELLED else "failed"
    return f"its child {child.id} {word}" + (f": {child.reason}" if child.reason else "")


def count_tasks(record: Record, tasks: Sequence[Record]) -> None:
    """An iterator counts the tasks that it emitted, and fails with the first of them that does, or at its end."""
    record.total = len(tasks)
    record.progress = sum(each.state in ENDED for each in tasks)
    failed = [each for each in tasks if each.state != State.SUCCEEDED]
    record.children_failed = len(failed)
    if failed and record.on_failure != "continue":
        _fail(record, failed[0])
    elif failed:
        record.first_failure, record.child_error = _reason(failed[0]), failed[0].error
        record.child_fingerprint = failed[0].fingerprint


def fail_at_end(record: Record) -> None:
    """An iterator that went on though a task of it had failed."""
    record.state, record.error, record.fingerprint = State.FAILED, record.child_error, record.child_fingerprint
    failed, total = record.children_failed, int(record.total or 0)
    record.reason = f"{failed} of its {total} tasks failed; the first: {record.first_failure}"


def _outcome(record: Record) -> bytes:
    if record.state == State.SUCCEEDED:
        found = {"state": record.state, "result": msgspec.Raw(record.result or b"null")}
    else:
        error = msgspec.Raw(record.error or b"null")
        found = {"state": record.state, "error": error, "reason": record.reason}
    return msgspec.json.encode(found)
