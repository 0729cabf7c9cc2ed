"""Side effects of an action on other tasks, shown before it is confirmed."""

from __future__ import annotations

from collections.abc import Iterator

from console.actions.catalog import Action
from console.actions.confirm_thresholds import AT_ONCE
from console.actions.selection import Choice
from queueops import inspect
from queueops.inspect import REACHING


def told_before(action: Action, choice: Choice) -> tuple[str, ...]:
    """One sentence for each side effect; for more than AT_ONCE tasks only the general rule."""
    if action.verb not in REACHING:
        return ()
    if len(choice) > AT_ONCE:
        return (REACHING[action.verb],)
    return tuple(dict.fromkeys(_each(action.verb, choice)))


def _each(verb: str, choice: Choice) -> Iterator[str]:
    for pool, id in choice.tasks:
        if task := inspect.task(id, pool):
            yield from inspect.effects(verb, task)
