"""Trees of tasks in few words, and what a test does with them at the level of the scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from queueops.model.contracts import Conflict, Node, Pushed
from queueops.redis.broker import RedisBroker
from tests.kernel.desk import Desk, make


@dataclass
class Tree:
    """A chain or a group of leaves (their ids) and trees."""

    kind: str
    id: str
    parts: Sequence[Any]
    own: dict[str, Any] = field(default_factory=dict)


def chain_of(task_id: str, *parts: Any, **own: Any) -> Tree:
    """A chain with this id."""
    return Tree("chain", task_id, parts, own)


def group_of(task_id: str, *parts: Any, **own: Any) -> Tree:
    """A group with this id."""
    return Tree("group", task_id, parts, own)


def nodes_of(tree: Tree, token: str = "") -> list[Node]:
    """What is planted for a tree."""
    nodes: list[Node] = []
    for part, parent, order in _walk(tree):
        root = nodes[0].push.id if nodes else ""
        if isinstance(part, Tree):
            own = {"cc": len(part.parts), **part.own}
            if not nodes:
                own |= {"to": sum(isinstance(each, str) for each, _, _ in _walk(tree)), "pr": 0}
            push = make(part.id, part.kind, kind=part.kind, own=tuple(own.items()), root=root)
        else:
            push = make(part, root=root)
        nodes.append(Node(push, parent, order))
    nodes[0].push.token = token
    return nodes


def _walk(tree: Tree) -> Iterator[tuple[Any, int, int]]:
    level: list[tuple[Any, int, int]] = [(tree, -1, 0)]
    number = 0
    while level:
        part, parent, order = level.pop(0)
        yield part, parent, order
        if isinstance(part, Tree):
            level += [(child, number, i) for i, child in enumerate(part.parts)]
        number += 1


def plant(desk: Desk, tree: Tree, *, conflict: Conflict = Conflict.IGNORE, token: str = "") -> Pushed:
    """Push a tree."""
    nodes = nodes_of(tree, token)
    nodes[0].push.conflict = conflict
    return desk.broker.plant(nodes)


def open_children(desk: Desk, task_id: str) -> set[str]:
    """The children of a composite that have not ended."""
    return {each.decode() for each in desk.client.smembers(f"{desk.keys.task(task_id)}#open")}


class Died(Exception):
    """The producer died."""


def die_after(broker: RedisBroker, monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
    """Of the calls of `plant` only so many are sent; they are not undone, either."""
    real, made = broker._call, []

    def call(script: str, *arguments: Any) -> Any:
        if script == "plant":
            made.append(script)
            if len(made) > calls:
                raise Died
        return real(script, *arguments)

    monkeypatch.setattr(broker, "_call", call)
