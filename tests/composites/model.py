"""Composites in plain Python: what each call must leave behind. Time moves only where a test says so."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.composites.model_of_progress import CONTAINERS, TERMINAL, Node, ProgressModel

__all__ = ["CONTAINERS", "TERMINAL", "Model", "Node"]
LEASED = ("locked", "mapping", "reducing")
TIMED = ("postponed", "restart")
MAX_CRASHES = 2
RETRIES = 1


class Model(ProgressModel):
    """All tasks. An end is told to the parent once what caused it is done, as the scripts do."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.ended: list[tuple[Node, str, Any]] = []
        self.stirred: list[str] = []

    # Composite push

    def plant(self, tree: list[Node]) -> str:
        """A tree from its root down, in state waiting: the word for it."""
        root = tree[0]
        if (old := self.nodes.get(root.id)) and not old.is_over:
            return "EXISTS"
        if any(node.id in self.nodes and not self.nodes[node.id].is_over for node in tree):
            return "IN USE"
        self.write(tree)
        root.total = sum(node.weight for node in tree if node.is_leaf)
        self.begin(root)
        self.settle_up()
        return "OK"

    def write(self, tree: list[Node]) -> None:
        """New records, known to their parents."""
        for node in tree:
            self.count += 1
            node.uid = self.count
            self.nodes[node.id] = node
            if parent := self.nodes.get(node.parent):
                node.parent_uid = parent.uid
                if parent.kind != "iterator":
                    parent.kids.append(node.id)
                    parent.open.add(node.id)

    def emit(self, iterator: Node, parts: list[Node], answer: str) -> None:
        """A run of an iterator writes its tasks; those of a run that came to nothing go."""
        self.erase_drafts(iterator)
        self.write(parts)
        iterator.drafts = [part.id for part in parts if part.parent == iterator.id]
        iterator.answer = answer

    def erase_drafts(self, iterator: Node) -> None:
        """What waits in them goes, and what waits below."""
        for task_id in iterator.drafts:
            self.erase_waiting(task_id, iterator.id)
        iterator.drafts = []

    def erase_waiting(self, task_id: str, parent: str) -> None:
        """From a task down: what still waits for its turn."""
        node = self.nodes.get(task_id)
        if node and node.state == "waiting" and node.parent == parent:
            del self.nodes[task_id]
            for kid in node.open:
                self.erase_waiting(kid, task_id)

    # Downwards

    def begin(self, node: Node) -> None:
        """Its turn has come, or its time."""
        if node.delayed and node.state == "waiting":
            node.state = "postponed"
        elif node.is_leaf:
            node.state = "pending"
        else:
            node.state = "idle"
            self.resume(node) if node.mode else self.start(node)

    def start(self, node: Node) -> None:
        """A chain begins its first child, a group all; one without children is done at once."""
        if not node.kids:
            return self.end_group(node)
        for task_id in node.kids[:1] if node.kind == "chain" else node.kids:
            self.activate(task_id, node, node.previous)

    def activate(self, task_id: str, parent: Node, previous: Any = None) -> None:
        """A child's turn has come."""
        child = self.child(task_id, parent)
        if child is None:
            self.ended.append(
                (Node(id=task_id, kind="task", uid=0, parent=parent.id, parent_uid=parent.uid), "failed", None)
            )
        elif child.is_over:
            self.tell(child)
        elif child.again and child.state in LEASED:
            child.turn, child.turn_previous = True, previous
        elif child.state == "waiting":
            child.previous = previous
            self.begin(child)

    def child(self, task_id: str, parent: Node) -> Node | None:
        """The child of this id, if it is this parent's."""
        found = self.nodes.get(task_id)
        return found if found and (found.parent, found.parent_uid) == (parent.id, parent.uid) else None

    def cancel(self, node: Node) -> None:
        """At once, or a wish to its worker."""
        if node.state in LEASED:
            node.cancel, node.again = True, False
        else:
            self.finish(node, "cancelled")

    def cancel_children(self, node: Node) -> None:
        """What it has begun, and what it has not; of an iterator's run that came to nothing, nothing stays."""
        below = [*node.open, *node.planted]
        node.open, node.planted = set(), []
        if node.kind == "iterator":
            self.stop(node, below)
        for task_id in below:
            found = self.nodes.get(task_id)
            if found and found.parent == node.id:
                found.uncounted = True
                if not found.is_over:
                    self.cancel(found)
        if node.kind == "iterator" and node.state not in LEASED:
            self.erase_drafts(node)

    def stop(self, node: Node, below: list[str]) -> None:
        """An iterator knows what ended with it."""
        node.tally["x"] += len(below)
        node.unwell += [("x", task_id) for task_id in below]
        node.ended += below

    # Upwards

    def finish(self, node: Node, state: str, result: Any = None) -> None:
        """The end of a node; what it has not ended goes with it."""
        node.state, node.result = state, result
        if node.is_whole:
            node.done = node.total
        self.tell(node)
        if state != "succeeded":
            self.cancel_children(node)

    def tell(self, node: Node) -> None:
        """Its parent will hear of it."""
        if node.parent:
            self.ended.append((node, node.state, node.result))

    def settle_up(self) -> None:
        """All that has ended is told, the first first."""
        while self.ended or self.stirred:
            while self.ended:
                self.child_ended(*self.ended.pop(0))
            stirred, self.stirred = list(dict.fromkeys(self.stirred)), []
            for iterator in stirred:
                self.weigh(self.nodes[iterator])
                self.go_on_iterating(self.nodes[iterator])

    def child_ended(self, child: Node, state: str, result: Any) -> None:
        """What an end means for the parent; nothing for one that is gone, and not before it has begun."""
        if child.again:
            return self.come_again(child)
        parent = self.nodes.get(child.parent)
        if parent is None or parent.uid != child.parent_uid:
            return
        if parent.state == "waiting" or (parent.state == "postponed" and not parent.is_leaf):
            return
        if child.id not in parent.open:
            return
        parent.open.discard(child.id)
        self.count_in(child, 1)
        if parent.kind == "iterator":
            self.iterator_child_ended(parent, child.id, state)
        elif parent.state == "idle":
            getattr(self, f"{parent.kind}_child_ended")(parent, child.id, state, result)

    def chain_child_ended(self, parent: Node, task_id: str, state: str, result: Any) -> None:
        """The next one's turn, or the end."""
        if state != "succeeded":
            return self.finish(parent, "failed")
        first = next((place for place, kid in enumerate(parent.kids) if kid in parent.open), len(parent.kids))
        before = parent.kids[first - 1] if first else ""
        if before != task_id:  # the child ran on while those in front of it came again
            result = self.nodes[before].result if before in self.nodes else None
        if first == len(parent.kids):
            return self.finish(parent, "succeeded", result)
        return self.activate(parent.kids[first], parent, result)

    def group_child_ended(self, parent: Node, task_id: str, state: str, result: Any) -> None:
        """Its policy decides; the last one is the end."""
        if state == "succeeded" or parent.policy == "outcomes":
            parent.results[task_id] = outcome(parent, state, result)
        elif parent.policy == "fail":
            return self.finish(parent, "failed")
        else:
            parent.failures += 1
        if not parent.open:
            self.end_group(parent)
        return None

    def end_group(self, node: Node) -> None:
        """All of them have ended."""
        if node.failures:
            self.finish(node, "failed")
        else:
            self.finish(node, "succeeded", [node.results.get(task_id) for task_id in node.kids])

    # Iterators

    def iterator_child_ended(self, node: Node, task_id: str, state: str) -> None:
        """One of its tasks has ended."""
        node.tally["ended"] += 1
        node.ended.append(task_id)
        if state != "succeeded":
            letter = "c" if state == "cancelled" else "f"
            node.tally[letter] += 1
            node.unwell.append((letter, task_id))
            node.failures += 1
            node.failed_by = node.failed_by or node.policy == "fail"
        self.stirred.append(node.id)

    def go_on_iterating(self, node: Node) -> None:
        """What follows from that; while it runs, only that the others end with one that failed."""
        if node.is_over:
            return
        if node.failed_by:
            return self.cancel_children(node) if node.state in LEASED else self.finish(node, "failed")
        if node.state != "idle":
            return
        room = self.let_in(node)
        if node.is_done:
            if not (node.open or node.planted or node.to_come):
                self.end_iterator(node)
        elif room:
            node.state = "pending"

    def let_in(self, node: Node) -> bool:
        """Tasks begin as far as the window allows, first those that come again; whether there is room for more."""
        free = node.window - len(node.open)
        while node.to_come and free > 0:
            node.to_come -= 1
            free -= self.take_again(node, *node.unwell.pop(0))
        if free <= 0:
            return False
        batch, node.planted = node.planted[:free], node.planted[free:]
        for task_id in batch:
            node.open.add(task_id)
            self.activate(task_id, node)
        return free > len(batch)

    def take_again(self, node: Node, letter: str, task_id: str) -> bool:
        """One that did not succeed comes again, or runs on; whether it takes a place."""
        child = self.child(task_id, node)
        if child is None:
            return False
        node.tally[letter] -= 1
        node.tally["ended"] -= letter != "x"
        if child.state == "succeeded":
            node.tally["ended"] += 1
            return False
        node.open.add(task_id)
        if child.is_over:
            self.reset(child, "failed")
            self.activate(task_id, node)
        elif child.state in LEASED:
            child.again = child.cancel = False
        return True

    def reset(self, child: Node, mode: str) -> None:
        """It waits for its turn again."""
        if child.kind in CONTAINERS:
            child.mode, child.result, child.failures, child.cancel = mode, None, 0, False
        else:
            self.uncount(child, mode)
            self.begin_anew(child, mode == "all")
        child.state, child.previous = "waiting", None

    def begin_anew(self, node: Node, everything: bool) -> None:
        """A leaf is another generation, with all its attempts; an iterator that goes on is the same."""
        if everything or node.kind != "iterator":
            self.count += 1
            node.uid, node.emitted = self.count, 0
            node.unwell, node.ended, node.tally = [], [], Counter()
        node.attempts = node.crashes = node.failures = 0
        node.cancel = node.reduces = node.is_done = node.failed_by = False
        node.result = None
        self.erase_drafts(node)
        node.open, node.planted, node.to_come = set(), [], len(node.unwell)

    def end_iterator(self, node: Node) -> None:
        """Its tasks are over."""
        self.finish(node, "failed" if node.failures else "succeeded")

    def settle_iterator(self, node: Node) -> None:
        """A run has ended well."""
        node.attempts = node.crashes = 0
        node.emitted += len(node.drafts)
        if node.drafts:
            self.weigh(node)
        node.planted, node.drafts = node.planted + node.drafts, []
        node.is_done = node.is_done or node.answer == "done"
        if node.failed_by:
            return self.finish(node, "failed")
        if node.cancel:
            return self.finish(node, "cancelled")
        room = self.let_in(node)
        is_empty = not (node.open or node.planted or node.to_come)
        if node.answer == "done" and is_empty:
            self.end_iterator(node)
        elif node.answer == "next" and room:
            node.state = "pending"
        elif node.answer == "idle" and is_empty:
            node.state = "postponed"
        else:
            node.state = "idle"
        return None


def outcome(group: Node, state: str, result: Any) -> Any:
    """What a group keeps of a child."""
    if group.policy != "outcomes":
        return result
    return {"state": state, "result": result} if state == "succeeded" else {"state": state}
