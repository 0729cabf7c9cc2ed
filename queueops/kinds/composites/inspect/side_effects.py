"""Side effects of an action on a task: on its parent task and its open parts, and what it repeats.

The confirmation page shows them as sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from queueops.errors import BrokerUnavailable
from queueops.inspect.detail import TaskDetail, brief
from queueops.inspect.detail import task as find_task
from queueops.inspect.store import open_reader
from queueops.inspect.task_rows import read_row
from queueops.model.sentences import Sentence, join, say, say_n
from queueops.model.states import CONTAINERS, TERMINAL, State, states_of

_FAILS = say("A part of a chain, a group or an iterator then counts as failed there.")
_ALONE = say("A part that runs again alone does not change its parent task.")
REACHING = {"cancel": _FAILS, "interrupt": _FAILS, "discard": _FAILS, "reinstate": _ALONE, "retry": _ALONE}
"""Actions that can have side effects, and the general rule of each for parts."""
MOST = 500
"""The most tasks of each pool that are read for the rule of an action."""
_POLICIES = {
    ("chain", "fail"): say("the chain fails at once, and its later parts are cancelled"),
    ("group", "fail"): say("the group fails at once, and its open parts are cancelled"),
    ("group", "continue"): say("the group waits for its other parts, then fails"),
    ("group", "outcomes"): say("the group continues, and lists the failure in its outcomes"),
    ("iterator", "fail"): say("the iterator fails at once, and its open tasks are cancelled"),
    ("iterator", "continue"): say("the iterator continues, and fails when its tasks have ended"),
}


def rule(verb: str, state: str, *, has_parts: bool) -> str:
    """The rule of a verb for many tasks in the states of a filter; empty if it has no side effects on them."""
    told = [REACHING[verb]] if has_parts and verb in REACHING else []
    if verb == "retry" and State.SUCCEEDED in states_of(state):
        told.append(say("A task that has succeeded repeats its effects."))
    return join(*told) if told else ""


def effects_on_many(verb: str, tasks: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The rule of a verb for these tasks, by pool. One call of each pool reads at most 500 of them."""
    if verb not in REACHING:
        return ()
    rows = open_reader().rows({pool: [(id, "") for id in ids[:MOST]] for pool, ids in tasks.items() if pool})
    fields = [read_row(id, row).fields for (_, id), row in rows.items()]
    has_succeeded = any(each.get("s") == State.SUCCEEDED for each in fields)
    state = State.SUCCEEDED if has_succeeded else State.FAILED
    found = rule(verb, state, has_parts=any(each.get("pi") for each in fields))
    return (found,) if found else ()


def effects(verb: str, task: TaskDetail) -> tuple[str, ...]:
    """The side effects of a verb on this task, one sentence each."""
    if verb not in REACHING:
        return ()
    try:
        return _effects(verb, task)
    except BrokerUnavailable:  # the page of a task works without its parents
        text = say(
            "Its parent task %(task)s is in the pool %(pool)s, which does not answer now.",
            task=task.parent,
            pool=task.parent_pool or task.pool,
        )
        return (text,)


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
    text = say_n(
        "Its end pushes its follow-up: %(names)s.",
        "Its end pushes its %(n)s follow-ups: %(names)s.",
        len(names),
        names=", ".join((*names[:5], "...") if len(names) > 5 else names),
    )
    return (text,)


def _below(task: TaskDetail) -> tuple[str, ...]:
    if task.kind == "task":
        return ()
    whole = task if task.parts_open else find_task(task.id, task.pool)  # a brief one has no parts
    if whole is None or not whole.parts_open:
        return ()
    count = whole.parts_open
    return (say_n("Its %(n)s open part is cancelled too.", "Its %(n)s open parts are cancelled too.", count),)


def _parent(task: TaskDetail) -> TaskDetail | None:
    parent = brief(task.parent, task.parent_pool or task.pool) if task.parent else None
    return parent if parent is not None and parent.uid == task.parent_uid else None


def _again(task: TaskDetail) -> tuple[str, ...]:
    if task.kind != "task" or task.state != State.SUCCEEDED:
        return ()
    return (say("The task has already succeeded once: it repeats its effects."),)


def _apart(task: TaskDetail) -> tuple[str, ...]:
    if (parent := _parent(task)) is None or parent.kind in CONTAINERS:
        return ()  # the engine refuses, and names the parent task to retry
    text = say(
        "Only this task runs again. Its parent %(parent)s has already counted its outcome, and does not change.",
        parent=_named(parent, parent.state),
    )
    return (text,)


def _named(parent: TaskDetail, *more: str) -> Sentence:
    """`the group g (idle)`, or `shop.Report (chain c)` for a composite with its own name."""
    own = parent.name != parent.kind
    facts = ", ".join((f"{parent.kind} {parent.id}", *more) if own else more)
    name = parent.name if own else say("the %(kind)s %(id)s", kind=parent.kind, id=parent.id)
    return join(name, f"({facts})" if facts else "")


def _above(task: TaskDetail) -> tuple[str, ...]:
    parent = _parent(task)
    if parent is None or parent.state in TERMINAL:
        return ()
    means = _POLICIES.get((parent.kind, parent.on_failure))
    if means is None:
        means = say("%(kind)s %(name)s decides what follows", kind=parent.kind, name=parent.name)
    place = _named(parent) if parent.kind == "chain" else _named(parent, f'on_failure="{parent.on_failure}"')
    first = say("The task is part of %(parent)s and counts as failed there: %(then)s.", parent=place, then=means)
    if not parent.parent or parent.on_failure == "outcomes":
        return (first,)
    return first, say("If that parent fails, it counts as failed in its own parent %(id)s.", id=parent.parent)
