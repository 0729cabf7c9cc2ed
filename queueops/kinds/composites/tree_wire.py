"""Tree encoding: tasks of a tree as the functions of the store read them."""

from __future__ import annotations

from collections.abc import Sequence

from queueops.kinds.composites.split_by_pool import Entry
from queueops.model.contracts import Push
from queueops.redis.pushwire import Argument, record_fields


def entry_arguments(entries: Sequence[Entry]) -> list[Argument]:
    """Some tasks of a tree, as ``plant`` reads them."""
    arguments: list[Argument] = [len(entries)]
    for entry in entries:
        fields = [] if entry.push is None else _node_fields(entry.push)
        arguments += (entry.parent, entry.order, entry.id, len(fields))
        arguments += fields
    return arguments


def _node_fields(push: Push) -> list[Argument]:
    fields = record_fields(push, token=False)
    if push.due is not None:
        fields += ("d", push.due)
    if push.delay_ms is not None:
        fields += ("dl", push.delay_ms)
    return fields
