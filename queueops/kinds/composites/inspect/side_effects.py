"""Side effects of an action on a task: on its parent task and its open parts, and what it repeats.

The confirmation page shows them as sentences.
"""

from __future__ import annotations

from queueops.errors import BrokerUnavailable
from queueops.inspect.detail import TaskDetail, brief
from queueops.inspect.detail import task as find_task
from queueops.model.states import CONTAINERS, TERMINAL, State

_FAILS = "A part of a chain, a group or an iterator then counts as failed there."
_ALONE = "A part that runs again alone does not change its parent task."
REACHING = {
    "cancel": _FAILS,
    "interrupt": _FAILS,
    "discard": _FAILS,
    "reinstate": _ALONE,
    "retry": f"{_ALONE} A task that has succeeded repeats its effects.",
}
"""Actions that can have side effects, and the general rule of each."""
_POLICIES = {
    ("chain", "fail"): "the chain fails at once, and its later parts are cancelled",
    ("group", "fail"): "the group fails at once, and its open parts are cancelled",
    ("group", "continue"): "the group waits for its other parts, then fails",
    ("group", "outcomes"): "the group continues, and lists the failure in its outcomes",
    ("iterator", "fail"): "the iterator fails at once, and its open tasks are cancelled",
    ("iterator", "continue"): "the iterator continues, and fails when its tasks have ended",
}


def rule(verb: str, state: str) -> str:
    """The rule of a verb for many tasks in one state, or in any (empty)."""
    if verb == "retry" and state not in ("", State.SUCCEEDED):
        return _ALONE
    return REACHING.get(verb, "")


def effects(verb: str, task: TaskDetail) -> tuple[str, ...]:
    """The side effects of a verb on this task, one sentence each."""
    if verb not in REACHING:
        return ()
    try:
        return _effects(verb, task)
    except BrokerUnavailable:  # the page of a task works without its parents
        return (
            f"Its parent task {task.parent} is in the pool {task.parent_pool or task.pool}, which does not answer now.",
        )


def _effects(verb: str, task: TaskDetail) -> tuple[str, ...]:
    if verb == "reinstate":
        return _apart(task) if task.state in TERMINAL else ()
    if verb == "retry":
        return (*_again(task), *_apart(task)) if task.state in TERMINAL else ()
    if task.state in TERMINAL:
        return ()
    return (*_below(task), *_above(task), *_behind(task, "discarded" if verb == "discard" else "cancelled"))


def _behind(task: TaskDetail, outcome: str) -> tuple[str, ...]:
    names = [each.name for each in task.follow_ups if outcome in each.outcomes]
    if not names:
        return ()
    what = "its follow-up" if len(names) == 1 else f"its {len(names)} follow-ups"
    return (f"Its end pushes {what}: {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}.",)


def _below(task: TaskDetail) -> tuple[str, ...]:
    if task.kind == "task":
        return ()
    whole = task if task.parts_open else find_task(task.id, task.pool)  # a brief one has no parts
    if whole is None or not whole.parts_open:
        return ()
    what = "open parts are" if whole.parts_open > 1 else "open part is"
    return (f"Its {whole.parts_open:,} {what} cancelled too.",)


def _parent(task: TaskDetail) -> TaskDetail | None:
    parent = brief(task.parent, task.parent_pool or task.pool) if task.parent else None
    return parent if parent is not None and parent.uid == task.parent_uid else None


def _again(task: TaskDetail) -> tuple[str, ...]:
    if task.kind != "task" or task.state != State.SUCCEEDED:
        return ()
    return ("The task has already succeeded once: it repeats its effects.",)


def _apart(task: TaskDetail) -> tuple[str, ...]:
    if (parent := _parent(task)) is None or parent.kind in CONTAINERS:
        return ()  # the engine refuses, and names the parent task to retry
    counted = f"Its parent {_named(parent, parent.state)} has already counted its outcome, and does not change."
    return (f"Only this task runs again. {counted}",)


def _named(parent: TaskDetail, *more: str) -> str:
    """`the group g (idle)`, or `shop.Report (chain c)` for a composite with its own name."""
    own = parent.name != parent.kind
    facts = ", ".join((f"{parent.kind} {parent.id}", *more) if own else more)
    name = parent.name if own else f"the {parent.kind} {parent.id}"
    return f"{name} ({facts})" if facts else name


def _above(task: TaskDetail) -> tuple[str, ...]:
    parent = _parent(task)
    if parent is None or parent.state in TERMINAL:
        return ()
    means = _POLICIES.get((parent.kind, parent.on_failure), f"{parent.kind} {parent.name} decides what follows")
    place = _named(parent) if parent.kind == "chain" else _named(parent, f'on_failure="{parent.on_failure}"')
    first = f"The task is part of {place} and counts as failed there: {means}."
    if not parent.parent or parent.on_failure == "outcomes":
        return (first,)
    return first, f"If that parent fails, it counts as failed in its own parent {parent.parent}."
