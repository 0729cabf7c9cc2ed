"""Task selection by a filter: a bounded number is counted ahead, the others are read during the action."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from queueops import inspect
from queueops.inspect import TaskQuery
from queueops.inspect.selection import PAGE, gather

MOST = 100_000
"""The most tasks that are read, and so counted, before the action."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The ids read ahead by pool, the `rest`, and the number of all (the most, if not `exact`)."""

    ahead: dict[str, list[str]]
    count: int
    exact: bool = True
    rest: Iterator[tuple[str, str]] | None = None

    def batches(self, most: int) -> Iterator[tuple[str, list[str]]]:
        """Batches of at most `most` ids of one pool."""
        for pool, ids in self.ahead.items():
            for start in range(0, len(ids), most):
                yield pool, ids[start : start + most]
        waiting: dict[str, list[str]] = {}
        for pool, id in self.rest or ():
            waiting.setdefault(pool, []).append(id)
            if len(waiting[pool]) == most:
                yield pool, waiting.pop(pool)
        yield from waiting.items()


def matching(query: TaskQuery) -> Found:
    """All tasks that match now."""
    asked_ms = inspect.now_ms()
    first = inspect.tasks(query, limit=1)
    asked_ms = max([asked_ms, *(row.entered_ms for row in first.rows)])  # the store's clock may have been set back
    rows, place = gather(query, "", MOST)
    ahead: dict[str, list[str]] = {}
    for row in rows:
        ahead.setdefault(row.pool, []).append(row.id)
    if place is None:
        return Found(ahead=ahead, count=len(rows))
    count, rest = max(first.total, len(rows)), _rest(query, place, asked_ms)
    return Found(ahead=ahead, count=count, exact=first.exact, rest=rest)


def _rest(query: TaskQuery, place: str | None, asked_ms: int) -> Iterator[tuple[str, str]]:
    """The tasks after a place, without tasks that entered their state after the question was asked."""
    while place is not None:
        rows, place = gather(query, place, PAGE, asked_ms=asked_ms)
        yield from ((row.pool, row.id) for row in rows)
