"""Eager trees: the parts of a composite run one after the other, depth first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from queueops.eager.running import RunningTasks
from queueops.model import endings
from queueops.model.contracts import Node, Push
from queueops.model.endings import Ended
from queueops.model.records import Record
from queueops.model.states import CONTAINERS, State
from queueops.redis.wire import with_first
from queueops.tasks import registry

ENDED = (State.SUCCEEDED, State.FAILED)


class EagerTree:
    """One tree, run depth first."""

    def __init__(
        self,
        nodes: Sequence[Node],
        made: Callable[[Push], Record],
        run: Callable[[Record], None],
        running: RunningTasks,
    ) -> None:
        for node in nodes:
            if node.push.kind not in CONTAINERS:
                registry.get(node.push.kind, node.push.name)
        self._nodes, self._run, self._running = nodes, run, running
        self._records = [made(node.push) for node in nodes]
        self._children: dict[int, list[int]] = {number: [] for number in range(-1, len(nodes))}
        for number, node in enumerate(nodes):
            self._children[node.parent].append(number)

    def run(self) -> Record:
        """Run the whole tree; returns the root's record."""
        self._go(0, None)
        return self._records[0]

    def run_failed(self) -> Record:
        """Run again the parts that did not succeed, each as a whole; returns the root's record."""
        for number in self._children[0]:
            if self._records[number].state != State.SUCCEEDED:
                for place in self._tree_of(number):
                    self._running.forget(self._records[place].pool, self._records[place].id)
                self._go(number, None)
        return self._records[0]

    def below(self, record: Record) -> list[Record]:
        """The open records below a part; none if the part is not in this tree."""
        places = [place for place, each in enumerate(self._records) if (each.pool, each.id) == (record.pool, record.id)]
        found = [self._records[below] for place in places for below in self._tree_of(place)[1:]]
        return [each for each in found if not each.is_over]

    def _tree_of(self, number: int) -> list[int]:
        """The number of a part, and those of all of its descendants."""
        found = [number]
        for each in found:
            found += self._children[each]
        return found

    @property
    def parts(self) -> list[Record]:
        """The records of the root's parts."""
        return [self._records[number] for number in self._children[0]]

    def composites(self) -> Iterator[tuple[Record, list[Record]]]:
        """Each chain and group of the tree, with its parts in order."""
        for number, children in self._children.items():
            if number >= 0:
                yield self._records[number], [self._records[child] for child in children]

    def _go(self, number: int, previous: bytes | None) -> Record:
        push, record = self._nodes[number].push, self._records[number]
        record.attempt, record.error, record.fingerprint, record.reason = 0, b"", "", ""
        if self._running.ends(record):
            for child in self._children[number]:
                self._go(child, None)
            signal_end(record)
            return record
        own = dict(push.own)
        given = None if own.get("si") else previous
        if push.kind == "chain":
            self._chain(number, record, given)
        elif push.kind == "group":
            self._group(number, record, given, record.own.get("on_failure", "fail"))
        else:
            record.args = push.args if given is None else with_first(push.args, given)
            self._run(record)
        if push.kind in CONTAINERS:
            self._running.ends(record)
            signal_end(record)
        if not number:
            self.count(record)
        return record

    def count(self, record: Record | None) -> None:
        """Sum up progress as in the store: the root's is that of its leaves, and complete when it has succeeded."""
        root = self._records[0]
        if record is not root or root.kind not in CONTAINERS:
            return
        leaves = [each for each in self._records if each.kind not in CONTAINERS]
        root.total = sum(map(_weight, leaves))
        root.progress = root.total if root.state == State.SUCCEEDED else sum(map(_done, leaves))

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
        signal_end(self._records[number])
        for child in self._children[number]:
            self._cancel(child, parent)


def signal_end(record: Record) -> None:
    """Send the signal of an ended composite."""
    if record.kind in (*CONTAINERS, "iterator") and record.uid and record.is_over:
        root = record.root or record.id
        endings.tell([Ended(record.id, record.pool, record.kind, record.name, str(record.state), root)])


def _weight(leaf: Record) -> float:
    return leaf.total or 1


def _done(leaf: Record) -> float:
    if leaf.state in ENDED:
        return _weight(leaf)
    return min(leaf.progress or 0, leaf.total) if leaf.total else 0


def _fail(record: Record, child: Record) -> None:
    record.state, record.error, record.fingerprint = State.FAILED, child.error, child.fingerprint
    record.reason = _reason(child)


def _reason(child: Record) -> str:
    word = "was cancelled" if child.state == State.CANCELLED else "failed"
    return f"its child {child.id} {word}" + (f": {child.reason}" if child.reason else "")


def count_tasks(record: Record, tasks: Sequence[Record]) -> None:
    """Count the tasks that an iterator emitted. It fails with its first failed task, or at its end."""
    record.total = len(tasks)
    record.progress = sum(each.state in ENDED for each in tasks)
    failed = [each for each in tasks if each.state != State.SUCCEEDED]
    own = record.own
    own["children_failed"] = len(failed)
    if failed and own.get("on_failure") != "continue":
        _fail(record, failed[0])
    elif failed:
        own["first_failure"] = _reason(failed[0])
        own["child_error"], own["child_fingerprint"] = failed[0].error, failed[0].fingerprint


def fail_at_end(record: Record) -> None:
    """Fail an iterator that continued after a task of it had failed."""
    own = record.own
    record.state, record.error, record.fingerprint = State.FAILED, own["child_error"], own["child_fingerprint"]
    failed, total = own["children_failed"], int(record.total or 0)
    record.reason = f"{failed} of its {total} tasks failed; the first: {own['first_failure']}"


def _outcome(record: Record) -> bytes:
    if record.state == State.SUCCEEDED:
        found = {"state": record.state, "result": msgspec.Raw(record.result or b"null")}
    else:
        error = msgspec.Raw(record.error or b"null")
        found = {"state": record.state, "error": error, "reason": record.reason}
    return msgspec.json.encode(found)
