"""Task selection by a filter: a bounded number is counted ahead, the others are read during the action."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from queueops import inspect
from queueops.inspect import TaskQuery

MOST = 100_000
"""The most tasks that are read, and so counted, before the action."""
PAGE = 200


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
    page = inspect.tasks(query, limit=PAGE)
    asked_ms = max([asked_ms, *(row.entered_ms for row in page.rows)])  # the store's clock may have been set back
    total, exact = page.total, page.exact
    ahead: dict[str, list[str]] = {}
    count = 0
    while True:
        for row in page.rows:
            ahead.setdefault(row.pool, []).append(row.id)
        count += len(page.rows)
        if not page.next:
            return Found(ahead=ahead, count=count)
        if count >= MOST:
            return Found(ahead=ahead, count=max(total, count), exact=exact, rest=_rest(query, page.next, asked_ms))
        page = inspect.tasks(query, after=page.next, limit=PAGE)


def _rest(query: TaskQuery, after: str, asked_ms: int) -> Iterator[tuple[str, str]]:
    """The tasks after a place, without those that came in since the question."""
    while after:
        page = inspect.tasks(query, after=after, limit=PAGE)
        yield from ((row.pool, row.id) for row in page.rows if row.entered_ms <= asked_ms)
        after = page.next
