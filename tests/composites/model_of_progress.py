"""Nodes of a model of composites, and what they count in the progress of their roots."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

TERMINAL = ("succeeded", "failed", "cancelled")
CONTAINERS = ("chain", "group")


@dataclass(kw_only=True)
class Node:
    """A task, or a composite, as the model knows it. ``fence`` None: no lease that was ever given is valid."""

    id: str
    kind: str
    uid: int
    parent: str = ""
    parent_uid: int = 0
    root: str = ""
    policy: str = "fail"
    delayed: bool = False
    state: str = "waiting"
    attempts: int = 0
    crashes: int = 0
    fence: int | None = None
    cancel: bool = False
    reduces: bool = False
    previous: Any = None
    result: Any = None
    mode: str = ""
    counted: bool = False
    uncounted: bool = False
    weight: float = 1
    part: float = 0
    own_total: float | None = None
    again: bool = False
    turn: bool = False
    turn_previous: Any = None
    token: str = ""
    kids: list[str] = field(default_factory=list)
    open: set[str] = field(default_factory=set)
    results: dict[str, Any] = field(default_factory=dict)
    failures: int = 0
    total: float = 0
    done: float = 0
    window: int = 1
    drafts: list[str] = field(default_factory=list)
    planted: list[str] = field(default_factory=list)
    answer: str = ""
    is_done: bool = False
    failed_by: bool = False
    ended: list[str] = field(default_factory=list)
    unwell: list[tuple[str, str]] = field(default_factory=list)
    to_come: int = 0
    emitted: int = 0
    tally: Counter[str] = field(default_factory=Counter)

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.state in TERMINAL

    @property
    def is_leaf(self) -> bool:
        """Whether its root counts it."""
        return self.kind not in CONTAINERS

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left to do of the tree that begins here."""
        return self.state == "succeeded" and not self.parent and self.kind in CONTAINERS


class ProgressModel:
    """What leaves count: as a whole when they have ended, in parts while they run."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}

    def count_in(self, leaf: Node, delta: int) -> None:
        """The progress of its root: as a whole, in place of the parts that count already."""
        leaf.counted = delta > 0
        self.add_progress(leaf, leaf.weight - leaf.part if delta > 0 else -leaf.weight)

    def add_progress(self, leaf: Node, done: float, total: float = 0) -> None:
        """Its root hears of that."""
        root = self.nodes.get(leaf.root)
        if leaf.is_leaf and root and not (root.is_leaf or root.is_whole):
            root.done, root.total = round(root.done + done, 3), round(root.total + total, 3)

    def uncount(self, leaf: Node, mode: str) -> None:
        """It comes again, and counts nothing until then; an iterator that begins anew has no tasks."""
        shrinks = mode == "all" and leaf.kind == "iterator"
        self.add_progress(leaf, -leaf.weight if leaf.counted else -leaf.part, 1 - leaf.weight if shrinks else 0)
        leaf.counted, leaf.uncounted, leaf.part = False, False, 0
        leaf.weight = 1 if shrinks else leaf.weight

    def count_part(self, leaf: Node, done: float, weight: float) -> None:
        """A leaf that runs went on, or its total is another one; a step below a hundredth does not count yet."""
        if not leaf.parent or leaf.uncounted or leaf.is_over:
            return
        part = round(max(0, min(done, weight)), 3)
        step = abs(part - leaf.part)
        if weight == leaf.weight and (step == 0 or (step < weight / 100 and part < weight)):
            return
        self.add_progress(leaf, part - leaf.part, weight - leaf.weight)
        leaf.part, leaf.weight = part, weight

    def advance(self, leaf: Node, done: float, total: float | None) -> None:
        """What a running task says of its progress."""
        leaf.own_total = leaf.own_total if total is None else total
        if leaf.own_total is not None:
            self.count_part(leaf, done, leaf.weight if total is None else total or 1)

    def weigh(self, iterator: Node) -> None:
        """An iterator counts as much as the tasks that it emitted."""
        self.count_part(iterator, iterator.tally["ended"], iterator.emitted or 1)
