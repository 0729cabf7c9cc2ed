"""Stand-ins: parts in the place of tasks whose ids are in use, so that one such id does not stop the whole composite.

By the option `on_conflict` of the part: with "ignore" it joins the task that has the id. With "skip" it is left out if
the id is in use at its turn. With any other choice the composite is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from queueops.errors.composites import PartInUse
from queueops.model.contracts import Conflict, Node, Push
from queueops.model.ids import new_id

Answer = TypeVar("Answer")


def resolved(nodes: Sequence[Node], write: Callable[[], Answer]) -> Answer:
    """Write a tree. Parts whose ids are in use become stand-ins. Raises PartInUse if a part may not become one."""
    while True:
        try:
            return write()
        except PartInUse as error:
            pushes = [node.push for node in nodes if node.push.pool == error.pool and node.push.id in error.ids]
            if not pushes or not all(_may_stand_in(push, nodes[0].push) for push in pushes):
                raise
            for push in pushes:
                _become_stand_in(push)


def _may_stand_in(push: Push, root: Push) -> bool:
    """Not a chain or a group, nor a part with a delay, nor one that would wait for the task that it is part of."""
    is_composite = any(field == "cc" for field, _ in push.own)
    follows = push.conflict in (Conflict.IGNORE, Conflict.SKIP) and push.due is None and push.delay_ms is None
    return follows and not is_composite and push.id not in (root.id, root.root)


def _become_stand_in(push: Push) -> None:
    skips = (("hs", 1),) if push.conflict is Conflict.SKIP else ()
    push.own = (*push.own, ("hj", push.id), *skips)
    push.id, push.token, push.conflict = new_id(), "", Conflict.NEW
