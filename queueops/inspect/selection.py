"""Selection by a filter, for an action on all matching tasks: their count, and the next rows to act on."""

from __future__ import annotations

from math import inf
from time import monotonic

import msgspec

from queueops import inspect
from queueops.inspect import TaskPage, TaskQuery, TaskRow
from queueops.inspect.facets import Facets, count_in

PAGE = 200


class Extent(msgspec.Struct, frozen=True):
    """The number of matching tasks; if no counter has it, `exact` is false and `count` is an upper bound."""

    count: int
    exact: bool
    sample: TaskRow | None = None


def extent(query: TaskQuery) -> Extent:
    """The number of tasks that match now."""
    return extent_of(query, inspect.tasks(query, limit=1))


def extent_of(query: TaskQuery, page: TaskPage, counted: Facets | None = None) -> Extent:
    """The number of tasks of a list: the size of an index, or a facet's count within the filter.

    Counts of the same reading as the page may be given; without them the store is asked.
    """
    sample = page.rows[0] if page.rows else None
    if page.exact:
        return Extent(page.total, exact=True, sample=sample)
    counted = inspect.facets(query) if counted is None else counted
    if (known := count_in(query, counted)) is not None:
        return Extent(known, exact=True, sample=sample)
    return Extent(page.total, exact=False, sample=sample)


def gather(
    query: TaskQuery, place: str, most: int, *, asked_ms: float = inf, until: float = inf
) -> tuple[list[TaskRow], str | None]:
    """The next rows after `place`, at most `most`, and the place where they continue (None at the end).

    Tasks that entered their state after `asked_ms`, the time of the question, are left out. After the monotonic time
    `until` no further page is read.
    """
    rows: list[TaskRow] = []
    while len(rows) < most:
        page = inspect.tasks(query, after=place, limit=min(PAGE, most - len(rows)))
        rows += (row for row in page.rows if row.entered_ms <= asked_ms)
        place = page.next
        if not place:
            return rows, None
        if monotonic() > until:
            break
    return rows, place
