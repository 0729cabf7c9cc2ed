"""Which tasks match a filter, however many: so many are looked up ahead, the others while those are acted on."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from queueops import inspect
from queueops.inspect import TaskQuery

MOST = 100_000
"""So many are looked up, and so counted, before anything is done."""
PAGE = 200


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The ids by pool as far as they were looked up, the `rest`, and how many all are (at most, where not `exact`)."""

    ahead: dict[str, list[str]]
    count: int
    exact: bool = True
    rest: Iterator[tuple[str, str]] | None = None

    def batches(self, most: int) -> Iterator[tuple[str, list[str]]]:
        """Ids of one pool, `most` of them at most, until all have come."""
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
    """All that match now."""
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
    """Those behind a place; what came in since the question, as by what is done to the others, is left alone."""
    while after:
        page = inspect.tasks(query, after=after, limit=PAGE)
        yield from ((row.pool, row.id) for row in page.rows if row.entered_ms <= asked_ms)
        after = page.next
