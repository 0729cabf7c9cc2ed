"""What workers, operators and time do to the composites of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queueops.model.contracts import Lease, Outcome
from tests.composites.model import CONTAINERS, LEASED, MAX_CRASHES, RETRIES, TIMED, Model, Node

LEASED_AS = {"mapreduce": "mapping"}


class WorkedModel(Model):
    """The model, with all that happens to it from outside."""

    def __init__(self) -> None:
        super().__init__()
        self.trash: dict[str, Node] = {}

    # Workers

    def claim(self, leases: Sequence[Lease], want: int) -> list[tuple[Lease, Any]]:
        """What was claimed is ready, and as much as it should be; what each should be given."""
        ready = {node.id for node in self.nodes.values() if node.state == "pending"}
        ids = [lease.id for lease in leases]
        assert len(set(ids)) == len(ids) == min(want, len(ready)), (ids, ready)
        assert set(ids) <= ready
        for lease in leases:
            node = self.nodes[lease.id]
            assert (lease.attempt, lease.crashes) == (node.attempts + 1, node.crashes)
            node.fence = lease.fence
            node.state = "reducing" if node.reduces else LEASED_AS.get(node.kind, "locked")
        return [(lease, self.nodes[lease.id].previous) for lease in leases]

    def settle(self, lease: Lease, outcome: Outcome, result: Any, *, again: bool = True) -> str:
        """The end of a lease; ``again``: there may be another attempt."""
        node = self.nodes.get(lease.id)
        if node is None:
            return "GONE"
        if node.fence != lease.fence:
            return "STALE"
        if node.state not in LEASED:
            return "REPEAT"
        self.end(node, outcome, result, again)
        self.settle_up()
        return "OK"

    def end(self, node: Node, outcome: Outcome, result: Any = None, again: bool = True) -> None:
        """What follows from an outcome."""
        if outcome is Outcome.SUCCESS:
            self.succeed(node, result)
        elif outcome is Outcome.CANCEL:
            self.finish(node, "cancelled")
        elif outcome is Outcome.RELEASE:
            self.finish(node, "cancelled") if node.cancel else self.make_ready(node)
        elif outcome is Outcome.CRASH:
            node.crashes += 1
            self.try_again(node, node.crashes < MAX_CRASHES)
        else:
            node.attempts += not node.cancel
            self.try_again(node, again and node.attempts <= RETRIES)

    def succeed(self, node: Node, result: Any) -> None:
        """Of what kind it is decides."""
        if node.kind == "iterator":
            self.settle_iterator(node)
        elif node.state == "mapping":
            if node.cancel:
                return self.finish(node, "cancelled")
            node.reduces, node.attempts, node.crashes = True, 0, 0
            node.state = "pending"
        else:
            self.finish(node, "succeeded", result)
        return None

    def try_again(self, node: Node, may: bool) -> None:
        """The next attempt, if there is one."""
        if node.cancel:
            self.finish(node, "cancelled")
        elif not may:
            self.finish(node, "failed")
        else:
            self.stay(node, "restart")

    def make_ready(self, node: Node) -> None:
        """Into its lane."""
        self.stay(node, "pending")

    def stay(self, node: Node, state: str) -> None:
        """It is run again, unless a task of it has failed meanwhile, with which it fails."""
        if node.failed_by:
            self.finish(node, "failed")
        else:
            node.state = state

    # Time

    def lose_lease(self, node: Node) -> None:
        """Its worker is dead."""
        node.fence = None
        self.end(node, Outcome.CRASH)
        self.settle_up()

    def come_due(self, node: Node) -> None:
        """Its delay is over."""
        assert node.state in TIMED
        if node.kind in CONTAINERS:
            self.begin(node)
        else:
            node.state = "pending"
        self.settle_up()

    def expire(self, node: Node) -> None:
        """Its retention is over: it goes, unless what it is part of is there, be it in the trash."""
        may_be = (self.nodes.get(node.parent), self.trash.get(node.parent))
        parent = next((each for each in may_be if each is not None and each.uid == node.parent_uid), None)
        if parent is None or (parent.kind == "iterator" and node.state == "succeeded"):
            del self.nodes[node.id]

    # Operators

    def may_retry(self, node: Node) -> bool:
        """Whether it is run again by itself."""
        parent = self.nodes.get(node.parent)
        known = parent is not None and parent.uid == node.parent_uid and parent.kind in CONTAINERS
        return node.is_over and not known

    def retry(self, node: Node, everything: bool) -> None:
        """An ended task or composite comes again."""
        if node.kind in CONTAINERS:
            everything = everything or node.state == "succeeded"
            node.mode = "all" if everything else "failed"
            node.state, node.result, node.cancel, node.failures = "idle", None, False, 0
            if everything:
                node.results.clear()
            self.resume(node)
        else:
            self.begin_anew(node, everything)
            node.state, node.fence = "pending", None
        self.settle_up()

    def resume(self, node: Node) -> None:
        """Children go back to where they wait, but for those that succeeded; then it goes on from there."""
        for task_id in node.kids:
            self.take_up(task_id, node)
        if not node.open and node.mode != "all":
            node.mode = "all"
            node.results.clear()
            return self.resume(node)
        node.mode = ""
        self.proceed(node)
        return None

    def take_up(self, task_id: str, parent: Node) -> None:
        """One child."""
        child = self.child(task_id, parent)
        if child and child.state == "succeeded" and parent.mode != "all":
            if not child.counted:
                child.uncounted = False
                self.count_in(child, 1)
                self.collect_late(child, parent)
            return
        parent.open.add(task_id)
        if child and child.state in LEASED:
            child.again = child.cancel = parent.mode == "all"
            child.uncounted = False
            child.turn, child.turn_previous = False, None
        if child and child.is_over:
            parent.results.pop(task_id, None)
            self.reset(child, parent.mode)

    def come_again(self, node: Node) -> None:
        """It ran on while all of its parent came again: what it gave does not count."""
        node.again = False
        self.reset(node, "all")
        if node.turn:
            node.previous = node.turn_previous
            self.begin(node)

    def collect_late(self, child: Node, parent: Node) -> None:
        """It ended well when its group was over already."""
        if parent.kind == "group":
            value = child.result
            parent.results[child.id] = {"state": "succeeded", "result": value} if parent.policy == "outcomes" else value

    def proceed(self, node: Node) -> None:
        """All children are where they should be."""
        if node.kind == "group":
            if not node.open:
                return self.end_group(node)
            return self.start(node)
        first = next((task_id for task_id in node.kids if task_id in node.open), None)
        if first is None:
            last = self.nodes.get(node.kids[-1])
            return self.finish(node, "succeeded", last.result if last else None)
        before = node.kids[: node.kids.index(first)]
        done = self.nodes.get(before[-1]) if before else None
        return self.activate(first, node, done.result if done else None if before else node.previous)

    def delete(self, node: Node) -> None:
        """Into the trash; its parts stay as long as it is there."""
        self.trash[node.id] = self.nodes.pop(node.id)
