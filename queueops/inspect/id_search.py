"""Search for tasks by the beginning of their id, within a budget."""

from __future__ import annotations

from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.redaction import redactor
from queueops.inspect.store import open_reader
from queueops.inspect.task_rows import TaskRow, read_row, row_of
from queueops.model.ids import ID, made_ms
from queueops.redis.query_replies import text

BUDGET = 1000
"""Candidates of each state: the newest, and those since the time that the beginning of a ULID tells."""
SHORTEST = 3
"""A shorter beginning would find everything of a day, or of a project."""


class FoundIds(Answer, frozen=True, kw_only=True):
    """The tasks that were found; `partial` says that the budget left some out."""

    rows: tuple[TaskRow, ...] = ()
    partial: bool = False
    broken: tuple[Broken, ...] = ()


def tasks_with_prefix(prefix: str, limit: int = 20) -> FoundIds:
    """Tasks whose id begins with the text; none for a text that is too short, or that no id begins with."""
    if len(prefix) < SHORTEST or not ID.fullmatch(prefix):
        return FoundIds()
    reader, since = open_reader(), made_ms(prefix)
    asked = (prefix, "" if since is None else since, BUDGET, limit)
    replies = reader.ask("find", dict.fromkeys(reader.pools(), asked))
    hide = redactor()
    rows = [
        row_of(pool, read_row(text(id), row), hide) for pool, (_, found) in replies.items() for id, _, *row in found
    ]
    return FoundIds(
        rows=tuple(sorted(rows, key=lambda row: -row.entered_ms)[:limit]),
        partial=any(left for left, _ in replies.values()),
        broken=broken_pools(reader.broken, reader.silent),
    )
