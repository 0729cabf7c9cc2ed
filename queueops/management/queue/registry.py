"""Task registry: the tasks that this process or a worker knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from queueops import inspect
from queueops.errors import advice
from queueops.inspect import KnownTask
from queueops.management.queue.formatting import listing, pairs, printable, shown_broken, to_json

NOT_HERE = "this process does not have its code"


def list_known(*, name: str, as_json: bool, **_: Any) -> Iterator[str]:
    """All known tasks, or one of them in full."""
    rows = inspect.registry()
    if not name:
        head = ("NAME", "KIND", "SIGNATURE", "POOL", "SCHEDULE", "WORKERS", "ABOUT")
        yield from listing(rows, head, _line, empty="No task is known.", as_json=as_json)
        return
    yield from shown_broken(rows.broken, aside=as_json)
    found = _named(rows, name)
    yield to_json(found) if as_json else _in_full(found)


def _named(rows: list[KnownTask], name: str) -> KnownTask:
    found = next((row for row in rows if row.name == name), None)
    if found is None:
        raise CommandError(f"No task is named {printable(name)!r}{advice(name, (row.name for row in rows))}")
    return found


def _line(row: KnownTask) -> tuple[object, ...]:
    about = row.about if row.is_here else NOT_HERE
    return row.name, row.kind, row.signature, row.options.get("pool", ""), row.schedule, _workers(row), about


def _workers(row: KnownTask) -> str:
    return f"{len(row.workers)}{f' to {row.most}' if row.unsure else ''}"


def _in_full(row: KnownTask) -> str:
    unsure = f"{row.unsure} more may know it" if row.unsure else ""
    facts = pairs(
        (
            ("name", row.name),
            ("kind", row.kind if row.is_here else NOT_HERE),
            ("module", row.module),
            ("takes", row.signature),
            *row.options.items(),
            ("schedule", row.schedule),
            ("workers", ", ".join(filter(None, (*row.workers, unsure))) or "no live worker knows it"),
        )
    )
    return "\n\n".join(filter(None, (facts, printable(row.doc, lines=True))))
