"""Random trees whose parts are in several pools, for a plain model and for the broker."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st

from queueops.model.contracts import Node
from tests.composites.model import CONTAINERS
from tests.composites.model_of_post import Part
from tests.kernel.desk import make
from tests.support.places import APART

policies = st.sampled_from(["fail", "continue", "outcomes"])
pools_ = st.sampled_from(APART)
leaves = st.tuples(st.just("task"), st.just(""), pools_, st.just(()))
nothing = st.tuples(st.just("group"), policies, pools_, st.just(()))
iterators = st.tuples(st.just("iterator"), st.sampled_from(["fail", "continue"]), pools_, st.just(()))


def trees_of(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Chains and groups of such leaves."""
    return st.recursive(
        leaves,
        lambda part: st.one_of(
            st.tuples(st.just("chain"), st.just("fail"), pools_, st.lists(part, min_size=1, max_size=3)),
            st.tuples(st.just("group"), policies, pools_, st.lists(part, min_size=1, max_size=3)),
        ),
        max_leaves=6,
    ).filter(lambda tree: tree[0] in CONTAINERS and tree[3])


trees = trees_of(st.one_of(leaves, leaves, leaves, nothing))
trees_with_iterators = st.one_of(iterators, trees_of(st.one_of(leaves, iterators, iterators)))


def grown(root: str, root_pool: str, tree: Any, numbers: Iterator[int]) -> list[Part]:
    """The nodes of a tree for the model, from its root down, level by level; no id but the root's comes twice."""
    level, found = [(tree, root, "", "")], list[Part]()
    while level:
        (kind, policy, pool, parts), own_id, above, home = level.pop(0)
        pool = pool if above else root_pool
        found.append(Part(id=own_id, kind=kind, uid=0, parent=above, pool=pool, home=home))
        found[-1].policy, found[-1].root = policy or "fail", root if above else ""
        level += [(part, f"{root}.{next(numbers)}", own_id, pool) for part in parts]
    return found


def pushed(nodes: list[Part]) -> list[Node]:
    """The same for the broker."""
    places = {node.id: number for number, node in enumerate(nodes)}
    orders: dict[str, itertools.count[int]] = {}
    found = []
    for node in nodes:
        push = make(node.id, f"tests.{node.kind}", kind=node.kind, root=node.root, pool=node.pool)
        own = (
            {"cc": sum(other.parent == node.id for other in nodes), "of": node.policy}
            if node.kind in CONTAINERS
            else {"wi": 2, "of": node.policy}
            if node.kind == "iterator"
            else {}
        )
        if not node.parent and node.kind != "iterator":
            own |= {"to": sum(other.is_leaf for other in nodes), "pr": 0}
        push.own = tuple(own.items())
        found.append(Node(push, places.get(node.parent, -1), next(orders.setdefault(node.parent, itertools.count()))))
    return found
