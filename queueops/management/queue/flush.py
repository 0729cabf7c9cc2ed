"""Flush of a pool, or of the whole namespace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from queueops import conf, control, inspect
from queueops.control.pools import check_unused
from queueops.errors import advice
from queueops.inspect.store import open_reader
from queueops.management.queue import audit
from queueops.management.queue.actions import confirm
from queueops.management.queue.formatting import printable, to_json


def flush(*, pool: str, yes: bool, force: bool, as_json: bool, **_: Any) -> Iterator[str]:
    """Delete all keys of a pool, or of all pools in the namespace. This cannot be undone."""
    pools = _chosen(pool)
    if not force:
        for name in pools:
            check_unused(name)
    held = {name: _states(name) for name in pools}
    if not yes:
        confirm(_question(pool, held))
    counts: dict[str, int] = {}
    for name in pools:
        with audit.recorded(verb="flush", target=name, pool=name, before={"tasks": held[name]}) as act:
            act.changed = counts[name] = control.flush(name, force=force)
    if as_json:
        yield to_json({"pools": counts})
    for name, count in () if as_json else counts.items():
        yield f"The pool {printable(name)} is empty: {count:,} keys were deleted."


def _chosen(pool: str) -> list[str]:
    known = open_reader().pools()
    if pool and pool not in known:
        raise CommandError(f"There is no pool {printable(pool)!r}{advice(pool, known)}")
    return [pool] if pool else known


def _states(pool: str) -> dict[str, int]:
    """The number of tasks in a pool, by state."""
    view = next((view for view in inspect.snapshot().pools if view.name == pool), None)
    return {state: count for state, count in (view.states if view else {}).items() if count}


def _question(pool: str, held: dict[str, dict[str, int]]) -> str:
    tasks = sum(sum(states.values()) for states in held.values())
    pools = ", ".join(map(printable, held)) or "none"
    where = f"the pool {printable(pool)}" if pool else f"the namespace {conf.current().namespace} (pools: {pools})"
    return f"Delete everything in {where} for good: {tasks:,} tasks, the trash, schedules, lanes and limits, metrics?"
