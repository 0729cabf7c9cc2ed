"""Trash: how many deleted tasks each pool keeps, and their end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from queueops import control, inspect
from queueops.inspect.store import open_reader
from queueops.management.queue import audit
from queueops.management.queue.actions import confirm
from queueops.management.queue.formatting import counted, printable, table, to_json
from queueops.management.queue.lookup import check_pool


def trash(*, pool: str, empty: bool, yes: bool, as_json: bool, **_: Any) -> Iterator[str]:
    """Show how many tasks the trash holds, or delete them for good."""
    if pool:
        check_pool(pool)
    held = {name: inspect.trash(name) for name in ([pool] if pool else open_reader().pools())}
    if empty:
        yield from _emptied({name: count for name, count in held.items() if count}, yes=yes, as_json=as_json)
    elif as_json:
        yield to_json({"pools": held})
    else:
        yield table(("POOL", "DELETED TASKS"), list(held.items()))


def _emptied(held: dict[str, int], *, yes: bool, as_json: bool) -> Iterator[str]:
    if held and not yes:
        pools = ", ".join(map(printable, held))
        number = counted(sum(held.values()), "task", "tasks")
        confirm(f"Delete {number} in the trash for good (pools: {pools})? This cannot be undone.")
    counts: dict[str, int] = {}
    for name, count in held.items():
        with audit.recorded(verb="empty_trash", target=name, pool=name, before={"tasks": count}) as act:
            act.changed = counts[name] = control.empty_trash(name).deleted
    if as_json:
        yield to_json({"pools": counts})
    elif not counts:
        yield "The trash is empty."
    else:
        for name, count in counts.items():
            of = f"in the trash of the pool {printable(name)}"
            yield f"{counted(count, f'task {of} was', f'tasks {of} were')} deleted for good."
