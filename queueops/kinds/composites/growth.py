"""Growth of a group: parts that a running part of it adds, by `current().add(...)`.

The id of an added part is made of the task that adds it and of the part itself. So a task that runs again adds nothing
twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha1
from typing import TYPE_CHECKING, Any

from queueops.errors import BadOption
from queueops.errors.composites import CompositeTooLarge, GroupEnded, NotInGroup
from queueops.kinds.composites.composite_store import get_composite_store
from queueops.kinds.composites.flatten import nodes_of
from queueops.kinds.composites.parts import Composite, Part
from queueops.kinds.composites.split_by_pool import is_mixed
from queueops.model.contracts import Conflict, LeaseRef, Node
from queueops.results.handle import TaskHandle
from queueops.tasks.store_call import AGAIN_S

if TYPE_CHECKING:
    from queueops.tasks.context import Context

MOST_ADDED = 200
"""Tasks in one call of `add`."""


def add(context: Context, parts: Sequence[Part]) -> list[TaskHandle[Any]]:
    """Add parts to the group of a running task. Raises NotInGroup, GroupEnded, LeaseLost, and what a push raises."""
    if not parts:
        return []
    lease = context.lease
    whole = Composite("group", parts, name="current().add()").using(pool=lease.pool, meta=context.meta)
    all_nodes = nodes_of(whole)
    nodes = all_nodes[1:]
    if is_mixed(all_nodes):
        expected = f"parts of the pool {lease.pool}, in which the group is"
        raise BadOption(name="add", value=whole, expected=expected)
    if len(nodes) > MOST_ADDED:
        raise CompositeTooLarge(name=whole.name, limit=MOST_ADDED, what="tasks", advice="Add them in several calls.")
    for node in nodes:
        node.push.root = lease.root or lease.id
        if node.parent == 0:
            node.push.own = (*node.push.own, ("si", 1))  # what the group got from the part before it is not for them
    with _named(context, all_nodes):
        _grow(context, all_nodes)
    return [TaskHandle(node.push.id, node.push.pool) for node in nodes if node.parent == 0]


def _grow(context: Context, nodes: Sequence[Node]) -> None:
    """Add the nodes below the first one. Raises what refuses them."""
    lease = context.lease
    under = LeaseRef(lease.pool, lease.id, lease.fence)
    word, detail = get_composite_store().grow(under, nodes, os.urandom(6).hex())
    match word:
        case "NONE" | "FAR":
            reason = f"its group {detail} is in another pool" if detail else "it is not part of one"
            raise NotInGroup(id=lease.id, reason=reason)
        case "ENDED":
            raise GroupEnded(id=detail)
        case "FULL":
            raise CompositeTooLarge(name=detail, limit=10_000, what="parts", advice="Use an Iterator.")
        case "LATER":
            context.restart(AGAIN_S)


@contextmanager
def _named(context: Context, nodes: Sequence[Node]) -> Iterator[None]:
    """Give each added part the id that it had when this task added it before, also in a call that failed."""
    tops = [0] * len(nodes)
    content: dict[int, list[Any]] = {}
    for number, node in enumerate(nodes[1:], 1):
        tops[number] = tops[node.parent] or number
        push = node.push
        own_id = "" if push.conflict is Conflict.NEW else push.id
        content.setdefault(tops[number], []).append((node.order, push.kind, push.name, push.args, own_id))
    numbers: list[tuple[str, int]] = []
    for top, found in content.items():
        digest = sha1(repr(found).encode(), usedforsecurity=False).hexdigest()
        taken = context.added.setdefault(digest, set())
        times = len(taken) + 1
        while times in taken:  # the number of a call that failed is free, below this one
            times -= 1
        taken.add(times)
        numbers.append((digest, times))
        below = [node.push for number, node in enumerate(nodes) if tops[number] == top]
        for place, push in enumerate(below):
            if push.conflict is Conflict.NEW:
                text = f"{context.root} {context.id} {digest} {times} {place}"
                push.id = sha1(text.encode(), usedforsecurity=False).hexdigest()[:26]
    try:
        yield
    except BaseException:  # the store may have added them: the same call adds the same parts again
        for digest, times in numbers:
            context.added[digest].discard(times)
        raise
