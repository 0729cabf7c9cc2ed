"""Split of a composite by pool: what is written in which pool, and in which order.

A fragment is a connected part of the tree within one pool. Its top knows its parent in another pool. That parent knows
the top as ``<id>#<pool>``, and is written first. So a producer that dies half-way leaves no part without a parent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from queueops.model.contracts import Node, Push
from queueops.model.states import CONTAINERS
from queueops.model.weights import shown, weights_below


@dataclass(frozen=True, slots=True)
class Entry:
    """One item for a pool: a task, or (``push`` is None) a parent's reference to a child in another pool."""

    parent: str
    order: int
    id: str
    push: Push | None


@dataclass(slots=True)
class Stage:
    """What is written in one pool before the next level; ``parents`` are the tops with their parents."""

    pool: str
    level: int
    entries: list[Entry] = field(default_factory=list)
    parents: list[tuple[Push, Push]] = field(default_factory=list)


def is_mixed(nodes: Sequence[Node]) -> bool:
    """Whether the tasks are in more than one pool."""
    first = nodes[0].push.pool
    return any(node.push.pool != first for node in nodes)


def entries_of(nodes: Sequence[Node]) -> list[Entry]:
    """What is written of a tree within one pool."""
    return [Entry(_parent(node, nodes), node.order, node.push.id, node.push) for node in nodes]


def stages_of(nodes: Sequence[Node], *, iterator: bool = False, round: int = 0) -> list[Stage]:
    """What is written of a tree, in this order. Sets the tasks' parents.

    An ``iterator`` neither keeps its tasks nor counts the leaves below them; they belong to its round of retries.
    """
    levels, tops = _places(nodes)
    below = weights_below(nodes)
    stages: dict[tuple[int, str], Stage] = {}
    for number, node in enumerate(nodes):
        push, level = node.push, levels[number]
        parent = nodes[node.parent].push if node.parent >= 0 else None
        if parent is not None and parent.pool != push.pool:
            known = _stage(stages, levels[node.parent], parent.pool)
            known.entries.append(Entry(parent.id, node.order, f"{push.id}#{push.pool}", None))
            push.parent_id, push.parent_pool = parent.id, parent.pool
            if iterator and node.parent == 0:
                push.own = (*push.own, ("it", 1), *((("po", round),) if round else ()))
            if not iterator and push.kind in CONTAINERS:
                push.own = (*push.own, ("to", shown(below[number])), ("pr", 0))
        elif level:
            push.own = (*push.own, ("tp", nodes[tops[number]].push.id))
        if push.pool != nodes[0].push.pool:
            push.own = (*push.own, ("qp", nodes[0].push.pool))
        stage = _stage(stages, level, push.pool)
        is_top = parent is None or parent.pool != push.pool
        stage.entries.append(Entry("" if is_top else _parent(node, nodes), node.order, push.id, push))
        if parent is not None and is_top:
            stage.parents.append((push, parent))
    return sorted(stages.values(), key=lambda stage: stage.level)


def pools_of(nodes: Sequence[Node]) -> Iterator[str]:
    """The pools of a tree, without duplicates."""
    return iter(dict.fromkeys(node.push.pool for node in nodes))


def _parent(node: Node, nodes: Sequence[Node]) -> str:
    return nodes[node.parent].push.id if node.parent >= 0 else ""


def _stage(stages: dict[tuple[int, str], Stage], level: int, pool: str) -> Stage:
    return stages.setdefault((level, pool), Stage(pool, level))


def _places(nodes: Sequence[Node]) -> tuple[list[int], list[int]]:
    """For each node, how many times the pool changes above it, and the top of its fragment."""
    levels, tops = [0] * len(nodes), [0] * len(nodes)
    for number, node in enumerate(nodes):
        if node.parent < 0:
            continue
        same = nodes[node.parent].push.pool == node.push.pool
        levels[number] = levels[node.parent] + (not same)
        tops[number] = tops[node.parent] if same else number
    return levels, tops
