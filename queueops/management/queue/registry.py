"""Task registry: the tasks that this process or a worker knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from queueops import inspect
from queueops.errors import advice
from queueops.inspect import KnownTask
from queueops.management.queue.formatting import pairs, printable, table, to_json
from queueops.management.queue.task_view import shown_broken

HEAD = ("NAME", "KIND", "SIGNATURE", "POOL", "SCHEDULE", "WORKERS", "ABOUT")
NOT_HERE = "this process does not have its code"


def list_known(*, name: str, as_json: bool, **_: Any) -> Iterator[str]:
    """All of them, or one in full."""
    rows = inspect.registry()
    yield from shown_broken(rows.broken, aside=as_json)
    if name:
        found = _named(rows, name)
        yield to_json(found) if as_json else _in_full(found)
    else:
        yield to_json(rows) if as_json else table(HEAD, map(_line, rows)) if rows else "No task is known."


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
            ("workers", ", ".join(filter(None, (*row.workers, unsure))) or "none that is alive knows it"),
        )
    )
    return "\n\n".join(filter(None, (facts, printable(row.doc, lines=True))))
