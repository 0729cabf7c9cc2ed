"""Progress weights: how much a task counts in the progress of its chain or group."""

from __future__ import annotations

from collections.abc import Sequence

from queueops.model.contracts import Node, Push
from queueops.model.kinds import CONTAINERS, COUNTING, PARTS


def shown(amount: float) -> str:
    """An amount as records store it."""
    return repr(int(amount)) if amount == int(amount) else repr(float(amount))


def counts_in_parent(parent_id: str, kind: str) -> bool:
    """Whether a running task's progress counts in its parent."""
    return bool(parent_id) and kind not in (*COUNTING, *CONTAINERS, *PARTS)


def weights_below(nodes: Sequence[Node]) -> list[float]:
    """For each node of a tree, given from the root down, the total of the leaves below it."""
    below: list[float] = [0] * len(nodes)
    for number in range(len(nodes) - 1, 0, -1):
        node = nodes[number]
        below[node.parent] += below[number] if node.push.kind in CONTAINERS else _weight(node.push)
    return below


def _weight(leaf: Push) -> float:
    """The task's own total; 1 if it has none, and while its total is not determined."""
    return 1 if leaf.kind in COUNTING else float(dict(leaf.own).get("to", 1))
