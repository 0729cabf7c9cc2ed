"""Eager composites: the whole tree runs within the push, and an iterator with all of its batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from queueops.eager.broker import EagerBroker, recorded
from queueops.kinds.composites.eager_trees import EagerTree, count_tasks, fail_at_end, signal_end
from queueops.model.contracts import Conflict, Lease, LeaseRef, Node, Push, Pushed, Settlement
from queueops.model.part_refs import PartRef
from queueops.model.records import Record
from queueops.model.states import CONTAINERS, State

ITERATOR = "iterator"


class EagerComposites(EagerBroker):
    """The broker's methods for composites, and the steps of iterators."""

    def __init__(self) -> None:
        super().__init__()
        self._emitted: dict[str, tuple[Sequence[Node], str, bytes]] = {}
        self._batches: dict[str, list[EagerTree]] = {}
        self._trees: list[EagerTree] = []
        self._parts: dict[tuple[str, str], list[Record]] = {}

    def plant(self, nodes: Sequence[Node], *, durable: bool = False, under: LeaseRef | None = None) -> Pushed:
        """Run a composite, depth first."""
        root = nodes[0].push
        known = self.record(root.pool, root.id)
        if known is not None and not known.is_over:
            return Pushed(root.id, known.uid, "REJECTED" if root.conflict is Conflict.REJECT else "EXISTS")
        return Pushed(root.id, self._run_tree(self._tree(nodes, self.made)).uid, "OK")

    def emit(self, lease: Lease, nodes: Sequence[Node], answer: str, state: bytes) -> None:
        """Take the batch of a running iterator."""
        self._emitted[lease.id] = nodes, answer, state

    def record(self, pool: str, task_id: str) -> Record | None:
        """The record of a task; that of a running composite has its progress."""
        record = super().record(pool, task_id)
        for tree in self._trees:
            tree.count(record)
        return record

    def parts(self, pool: str, task_id: str, *, last: bool = False) -> list[PartRef]:
        """The parts of a chain or a group in order, or only the last one."""
        found = self._parts.get((pool, task_id), [])
        references = [
            PartRef(order, part.pool, part.id, part.kind, part.name, part.own.get("on_failure", ""))
            for order, part in enumerate(found)
        ]
        return references[-1:] if last else references

    def cancel(self, record: Record, reason: str, hard: bool) -> None:
        """Cancel the running task, and all of its descendants."""
        super().cancel(record, reason, hard)
        below = f"{record.id} was cancelled" + (f": {reason}" if reason else "")
        for tree in self._trees:
            for part in tree.below(record):
                self.running.cancel(part.pool, part.id, below, hard=hard)

    def is_replaceable(self, known: Record) -> bool:
        """A part of a composite is not."""
        is_part = any(known is part for parts in self._parts.values() for part in parts)
        return super().is_replaceable(known) and not is_part

    def made(self, push: Push) -> Record:
        """Forget the batches of an earlier iterator of this id."""
        self._batches.pop(push.id, None)
        return super().made(push)

    def settle(self, record: Record, end: Settlement) -> None:
        """The end of a step does not complete the progress of an iterator."""
        progress = record.progress
        super().settle(record, end)
        if record.kind == ITERATOR:
            record.progress = progress

    def succeeded(self, record: Record) -> None:
        """An iterator goes on with what it emitted."""
        if record.kind == ITERATOR:
            self._go_on(record)
        super().succeeded(record)

    def at_end(self, record: Record) -> None:
        """Send the signal of an iterator; a tree sends those of chains and groups."""
        if record.kind == ITERATOR:
            signal_end(record)
        super().at_end(record)

    def resumes(self, record: Record) -> bool:
        """A retry of an iterator first runs its failed tasks."""
        if record.kind != ITERATOR:
            return super().resumes(record)
        self._run_failed(record)
        return False

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
                self.at_end(whole)
        return root

    def _run_part(self, record: Record) -> None:
        if record.begun:
            self.run_again(record)
        else:
            self.run(record)

    def _go_on(self, record: Record) -> None:
        """Run the tasks that an iterator emitted; then call it again, unless it has ended."""
        nodes, answer, state = self._emitted.pop(record.id)
        batches = self._batches.setdefault(record.id, [])
        record.state = State.IDLE
        if nodes:
            batches.append(self._tree(nodes, partial(self._part_of, record)))
            self._run_tree(batches[-1])
            count_tasks(record, [part for batch in batches for part in batch.parts])
        if answer != "done":
            record.own["cursor"] = state
        if self.running.ends(record) or record.state != State.IDLE:
            return
        record.state = State.SUCCEEDED if answer == "done" else State.PENDING
        if answer == "done" and record.own.get("children_failed"):
            fail_at_end(record)

    def _run_failed(self, record: Record) -> None:
        """Run again the tasks of an iterator that did not succeed; then it continues from its last state."""
        batches = self._batches.get(record.id, [])
        record.state, record.reason = State.PENDING, ""
        for batch in batches:
            self._run_tree(batch, failed=True)
        count_tasks(record, [part for batch in batches for part in batch.parts])
        if not record.is_over:
            self.run(record)

    def _part_of(self, iterator: Record, push: Push) -> Record:
        """A task that an iterator emitted. The group of a batch has the iterator's id and policy, and is not stored."""
        if push.id != iterator.id:
            return self.made(push)
        whole = recorded(push, 0)
        whole.own["on_failure"] = iterator.own.get("on_failure", "")
        return whole
