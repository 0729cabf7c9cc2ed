"""Random trees for the model of composites, and the same for the broker."""

from __future__ import annotations

import itertools
import json
from typing import Any

import hypothesis.strategies as st

from queueops.model.contracts import Node, Outcome
from queueops.model.weights import shown
from tests.composites import model as models
from tests.composites.model import CONTAINERS, RETRIES
from tests.kernel.desk import NEVER_MS, make

policies = st.sampled_from(["fail", "continue", "outcomes"])
leaves = st.one_of(
    st.tuples(st.just("task"), st.sampled_from(["", "", "", "4", "0.5"]), st.just(())),
    st.just(("task", "", ())),
    st.just(("mapreduce", "", ())),
    st.tuples(st.just("group"), policies, st.just(())),
    st.tuples(st.just("iterator"), st.sampled_from(["fail", "continue"]), st.just(())),
    st.tuples(st.just("iterator"), st.sampled_from(["fail", "continue"]), st.just(())),
)
trees = st.recursive(
    leaves,
    lambda part: st.one_of(
        st.tuples(st.just("chain"), st.just("fail"), st.lists(part, min_size=1, max_size=4)),
        st.tuples(st.just("group"), policies, st.lists(part, min_size=1, max_size=4)),
    ),
    max_leaves=10,
).filter(lambda tree: tree[0] in CONTAINERS and tree[2])
emitted = st.one_of(st.just(("task", "", ())), st.just(("chain", "fail", (("task", "", ()), ("task", "", ())))))
picks = st.integers(0, 999)
steps = st.sampled_from([0, 0.25, 1, 2, 3.999, 60, 1000])
outcomes = st.sampled_from([Outcome.SUCCESS] * 6 + [Outcome.ERROR, Outcome.ERROR, Outcome.RELEASE, Outcome.CANCEL])
ends = st.tuples(picks, outcomes, st.booleans(), st.lists(emitted, max_size=3), st.sampled_from([1, 1, 2]))


def grown(tree: Any, task_id: str, root: str = "", parent: str = "", delayed: bool = False) -> list[models.Node]:
    """The nodes of a tree for the model, from its root down, a level at a time."""
    level, found, numbers = [(tree, task_id, parent)], [], itertools.count()
    while level:
        (kind, policy, parts), own_id, above = level.pop(0)
        is_root = own_id == task_id and not parent
        found.append(models.Node(id=own_id, kind=kind, uid=0, parent=above, root="" if is_root else root or task_id))
        found[-1].policy, found[-1].window, found[-1].delayed = policy or "fail", 2, delayed and is_root
        if kind == "task" and policy:
            found[-1].weight = found[-1].own_total = float(policy)
        level += [(part, f"{task_id}.{next(numbers)}", own_id) for part in parts]
    return found


def pushed(nodes: list[models.Node], token: str = "", first: int = 0) -> list[Node]:
    """The same for the broker."""
    places = {node.id: number for number, node in enumerate(nodes, first)}
    orders: dict[str, itertools.count[int]] = {}
    found = []
    for node in nodes:
        size = sum(other.parent == node.id for other in nodes)
        own = {"cc": size, "of": node.policy} if node.kind in CONTAINERS else {}
        if node.kind == "iterator":
            own = {"wi": node.window, "of": node.policy}
        if node.own_total is not None:
            own = {"to": shown(node.own_total)}
        push = make(node.id, f"tests.{node.kind}", kind=node.kind, root=node.root, retries=RETRIES)
        if not node.root and not node.parent:
            own |= {"to": shown(sum(other.weight for other in nodes if other.is_leaf)), "pr": 0}
            push.token, push.delay_ms = token, NEVER_MS if node.delayed else None
        push.own = tuple(own.items())
        order = next(orders.setdefault(node.parent, itertools.count()))
        found.append(Node(push, places.get(node.parent, first - 1 if first else -1), order))
    return found


def plain(value: bytes | None) -> Any:
    """A result as the model knows it: of an outcome the state, and the result where there is one."""
    return _stripped(json.loads(value)) if value else None


def _stripped(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _stripped(part) for name, part in value.items() if name in ("state", "result")}
    return [_stripped(part) for part in value] if isinstance(value, list) else value
