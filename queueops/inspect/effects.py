"""What a cancelled or discarded task does to what it is part of, in plain words: said before it is done."""

from __future__ import annotations

from queueops.inspect.answers import TaskDetail
from queueops.inspect.detail import task as find_task
from queueops.states import TERMINAL

COUNTING = ("cancel", "discard")
"""Verbs after which a part counts as failed."""
GENERAL = "A part of a chain, a group or an iterator counts as failed there."
_POLICIES = {
    ("chain", "fail"): "the chain ends as failed at once, and what was still to come is cancelled",
    ("group", "fail"): "the group ends as failed at once, and its parts that have not ended are cancelled",
    ("group", "continue"): "the group lets its other parts end, then ends as failed",
    ("group", "outcomes"): "the group goes on, and tells it in its list of outcomes",
    ("iterator", "fail"): "the iterator ends as failed, and its tasks that have not ended are cancelled",
    ("iterator", "continue"): "the iterator goes on, and ends as failed when its tasks have ended",
}


def effects(verb: str, task: TaskDetail) -> tuple[str, ...]:
    """What the verb does beyond the task itself, a sentence each; nothing for a task that stands alone."""
    if verb not in COUNTING or task.state in TERMINAL:
        return ()
    return (*_below(task), *_above(task))


def _below(task: TaskDetail) -> tuple[str, ...]:
    if not task.parts_open:
        return ()
    what = "parts that have" if task.parts_open > 1 else "part that has"
    return (f"Its {task.parts_open:,} {what} not ended: cancelled with it.",)


def _above(task: TaskDetail) -> tuple[str, ...]:
    parent = find_task(task.parent, task.parent_pool or task.pool) if task.parent else None
    if parent is None or parent.uid != task.parent_uid or parent.state in TERMINAL:
        return ()
    means = _POLICIES.get((parent.kind, parent.on_failure), f"{parent.kind} {parent.name} decides what follows")
    policy = "" if parent.kind == "chain" else f', on_failure="{parent.on_failure}"'
    first = f"It is part of {parent.name} ({parent.kind} {parent.id}{policy}), where it counts as failed: {means}."
    if not parent.parent or parent.on_failure == "outcomes":
        return (first,)
    return first, f"When that fails, it counts as failed in what it is part of itself, {parent.parent}."
