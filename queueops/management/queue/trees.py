"""Tree of a chain, group or iterator in a terminal: one line for each part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.core.management.base import CommandError

from queueops import inspect
from queueops.errors import FilterError
from queueops.inspect import Branch, Part
from queueops.inspect.spans import span
from queueops.management.queue.formatting import cell, to_json
from queueops.management.queue.lookup import task_of

INDENT = "   "


def show_tree(
    *, id: str, pool: str, only: str, after: str, open_parts: Sequence[str], as_json: bool, **_: Any
) -> Iterator[str]:
    """A task's parts, with theirs, as far as a page holds."""
    task = task_of(id, pool)
    try:
        found = inspect.tree(task.id, task.pool, after=after, show=only, opened=open_parts)
    except FilterError as error:
        raise CommandError(str(error), returncode=2) from error
    if as_json:
        yield to_json(found)
        return
    for depth, above in enumerate(reversed(found.above)):
        yield f"{INDENT * depth}in {cell(above.name or above.id)} {above.kind} {above.state} {cell(above.id)}"
    yield f"{cell(task.name)} {task.kind} {task.state} {cell(task.id)}{_tally(found.root)}"
    yield from _lines(found.root, 1)


def _lines(branch: Branch | None, depth: int) -> Iterator[str]:
    if branch is None:
        return
    if branch.first:
        yield f"{INDENT * depth}... {branch.first:,} before"
    for part in branch.rows:
        yield f"{INDENT * depth}{_line(part)}"
        yield from _lines(part.branch, depth + 1)
    if branch.next and branch.rows:
        behind = "more" if branch.behind is None else f"{branch.behind:,} more"
        yield f"{INDENT * depth}... {behind}; continue with --after {branch.next}"


def _line(part: Part) -> str:
    number = "-" if part.number is None else f"{part.number}."
    row = part.task
    if row is None and part.silent:
        return f"{number} not known {cell(part.id)}: the pool {cell(part.pool)} does not answer"
    if row is None:
        return f"{number} gone {cell(part.id)}"
    took = f" {span(part.ended_ms - part.begun_ms)}" if part.begun_ms and part.ended_ms else ""
    done = f" {row.progress or 0:g} of {row.total:g}" if row.total and not part.ended_ms else ""
    place = f" in the pool {cell(part.pool)}" if part.elsewhere else ""
    earlier = "earlier attempt: " if row.error_is_earlier else ""
    error = f"  {earlier}{cell(row.error, 120)}" if row.error else ""
    return f"{number} {cell(row.name)} {row.state}{took}{done}{place} {cell(part.id)}{_tally(part.branch)}{error}"


def _tally(branch: Branch | None) -> str:
    """The number of parts by state; of very many the ended ones; of an iterator the open ones."""
    if branch is None:
        return ""
    if branch.total is None:
        under_way = f"{branch.open:,} under way"
        return f" ({', '.join([under_way, *(f'{number:,} {state}' for state, number in branch.counts)])})"
    if branch.counts:
        return f" ({', '.join(f'{number:,} {state}' for state, number in branch.counts)})"
    return f" ({branch.ended:,} of {branch.total:,} have ended)"
