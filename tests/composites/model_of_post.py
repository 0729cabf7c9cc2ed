"""Composites over pools in plain Python: what one means for another is a letter, and counts when it is read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.composites.model import Model, Node

MOST_TRIES = 20


@dataclass(kw_only=True)
class Part(Node):
    """A task or composite of a pool; ``home`` is the pool of its parent.

    ``successor`` comes next, as its chain has told it; one that is ``ahead`` was begun by the part before it.
    """

    pool: str
    home: str = ""
    successor: str = ""
    ahead: bool = False

    @property
    def is_away(self) -> bool:
        """Whether its parent is in another pool."""
        return bool(self.parent) and self.home != self.pool


@dataclass(kw_only=True, eq=False)
class Letter:
    """A command: from a pool's outbox, to a task of another pool. ``place``: due, locked, later, dead."""

    verb: str
    pool: str
    to: str
    target: str
    sender: str
    uid: int
    parent: str = ""
    state: str = ""
    value: Any = None
    successor: str = ""
    place: str = "due"
    tries: int = 0
    id: str = ""

    @property
    def address(self) -> tuple[str, str, str, str]:
        """What tells it from others, but for its copies."""
        return self.verb, self.to, self.target, self.sender

    @property
    def identity(self) -> tuple[str, str]:
        """By what the store knows it."""
        return self.pool, self.id


@dataclass
class PostModel(Model):
    """All tasks of all pools, the letters that are under way in the order of their sending, and what was in vain."""

    letters: list[Letter] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__init__()

    # What is said to another pool

    def activate(self, task_id: str, parent: Node, previous: Any = None) -> None:
        """A child's turn has come; one in another pool is told."""
        child = self.part(task_id)
        if child.pool == self.part(parent.id).pool:
            super().activate(task_id, parent, previous)
        elif task_id in parent.open:
            self.send("activate", self.part(parent.id), child, parent.uid, previous)
            self.letters[-1].successor = self.behind(task_id, parent)

    def behind(self, task_id: str, parent: Node) -> str:
        """What comes next in a chain, if that is in another pool than the chain."""
        kids = parent.kids if parent.kind == "chain" else []
        after = kids[kids.index(task_id) + 1 :] if task_id in kids else []
        return after[0] if after and self.part(after[0]).pool != self.part(parent.id).pool else ""

    def cancel_children(self, node: Node) -> None:
        """What is open: here at once, elsewhere by a letter."""
        below, node.open = sorted(node.open), set()
        for task_id in below:
            child = self.part(task_id)
            if child.pool != self.part(node.id).pool:
                self.send("cancel", self.part(node.id), child, node.uid)
            elif not child.is_over:
                self.cancel(child)

    def child_ended(self, child: Node, state: str, result: Any) -> None:
        """A parent elsewhere is told."""
        assert isinstance(child, Part)
        if not child.is_away:
            return self.hear(child, state, result)
        if child.ahead:
            return None
        letter = Letter(
            verb="ended", pool=child.pool, to=child.home, target=child.parent, sender=child.id, uid=child.parent_uid
        )
        letter.state, letter.value = state, result
        self.letters.append(letter)
        if child.successor and state == "succeeded":
            self.lead_on(child, result)
        return None

    def lead_on(self, child: Part, result: Any) -> None:
        """The part behind it is told by itself."""
        after = self.part(child.successor)
        turn = Letter(
            verb="follow", pool=child.pool, to=after.pool, target=after.id, sender=child.id, uid=child.parent_uid
        )
        turn.parent, turn.value = child.parent, result
        if after.pool == child.pool:
            self.read_follow(turn)
        else:
            self.letters.append(turn)

    def send(self, verb: str, parent: Part, child: Part, uid: int, value: Any = None) -> None:
        """From a parent to its child."""
        self.letters.append(
            Letter(verb=verb, pool=parent.pool, to=child.pool, target=child.id, sender=parent.id, uid=uid, value=value)
        )

    # What is heard

    def hear(self, child: Part, state: str, result: Any) -> None:
        """What it means for the parent; nothing for one that is gone, or of another generation: that is counted."""
        parent = self.nodes.get(child.parent)
        if parent is None or parent.uid != child.parent_uid:
            self.dropped[child.home] += 1
        else:
            super().child_ended(child, state, result)

    def read(self, letter: Letter) -> str:
        """It is applied where it was sent; as often as it comes."""
        word = getattr(self, f"read_{letter.verb}")(letter)
        self.settle_up()
        return str(word)

    def read_activate(self, letter: Letter) -> str:
        """A child's turn; one that has ended says so again."""
        child = self.addressed(letter)
        if child is None:
            return "GONE"
        child.ahead, child.successor = False, letter.successor or child.successor
        if child.is_over:
            self.tell(child)
        elif child.state == "waiting":
            child.previous = letter.value
            self.begin(child)
        return "OK"

    def read_follow(self, letter: Letter) -> str:
        """The part before it has succeeded."""
        child = self.addressed(letter)
        if child is None:
            return "GONE"
        if child.state == "waiting":
            child.previous, child.ahead = letter.value, True
            self.begin(child)
        return "OK"

    def read_cancel(self, letter: Letter) -> str:
        """Its parent is over."""
        child = self.addressed(letter)
        if child is None:
            return "GONE"
        if not child.is_over:
            self.cancel(child)
        return "OK"

    def read_ended(self, letter: Letter) -> str:
        """A child's end."""
        child = Part(id=letter.sender, kind="chain", uid=0, parent=letter.target, pool=letter.pool, home=letter.to)
        child.parent_uid = letter.uid
        self.hear(child, letter.state, letter.value)
        return "OK"

    def addressed(self, letter: Letter) -> Part | None:
        """The child that is meant, if it is still one of that parent."""
        child = self.nodes.get(letter.target)
        is_meant = child is not None and (child.parent, child.parent_uid) == (
            letter.parent or letter.sender,
            letter.uid,
        )
        return self.part(letter.target) if is_meant else None

    # How it went

    def conclude(self, letter: Letter, word: str) -> None:
        """What its sender is told; of one that is no more there, nothing."""
        if letter not in self.letters:
            return
        if word == "FAILED":
            return self.put_off(letter)
        self.letters.remove(letter)
        self.dropped[letter.pool] += word == "GONE"
        if word == "GONE" and letter.verb == "activate":
            self.lose(letter.target, letter.sender, letter.uid)
        return None

    def put_off(self, letter: Letter, *, silent: bool = False) -> None:
        """It is tried later, or never; a silent process may have done anything."""
        letter.tries += 1
        letter.place = "dead" if letter.tries >= MOST_TRIES and not silent else "later"

    def lose(self, task_id: str, parent: str, uid: int) -> None:
        """A child that is not there has failed."""
        pool = self.part(parent).pool
        child = Part(id=task_id, kind="chain", uid=0, parent=parent, parent_uid=uid, pool=pool, home=pool)
        self.ended.append((child, "failed", None))
        self.settle_up()

    def part(self, task_id: str) -> Part:
        """A task, which must be there."""
        found = self.nodes[task_id]
        assert isinstance(found, Part)
        return found

    # The end

    def come_to_rest(self) -> None:
        """What was dropped is found out: ends are heard, turns are taken, and all that runs succeeds."""
        before = None
        while before != (before := self.standing()):
            for node in list(self.nodes.values()):
                if node.state == "pending":
                    self.finish(node, "succeeded", node.id)
                elif node.state == "idle":
                    self.look_after(node)
                self.settle_up()
                for letter in self.letters:
                    self.read(letter)
                self.letters.clear()

    def look_after(self, parent: Node) -> None:
        """Its open children, of which a chain's first has its turn."""
        turns = [kid for kid in parent.kids if kid in parent.open]
        for task_id in turns[:1] if parent.kind == "chain" else turns:
            child = self.part(task_id)
            if child.is_away and (child.parent, child.parent_uid) != (parent.id, parent.uid):
                self.lose(task_id, parent.id, parent.uid)
            elif child.is_over:
                self.hear(child, child.state, child.result)
            elif child.state == "waiting":
                child.previous = parent.previous
                self.begin(child)

    def standing(self) -> dict[str, str]:
        """The states of all."""
        return {node.id: node.state for node in self.nodes.values()}
