"""Task lists: filtered, newest first, page by page, at a cost that does not grow with their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queueops.inspect import pagination
from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.query import TaskQuery
from queueops.inspect.redaction import redactor
from queueops.inspect.store import LATE_MS, open_reader, pools_of
from queueops.inspect.task_rows import StoredRow, TaskRow, read_row, row_of
from queueops.redis.query_replies import Detail, text, whole
from queueops.redis.reader import Argument, Reader

MOST = 200
BUDGET = 2000
"""Most candidates of one page. With more facets than one index covers, a page may end before it is full."""


class TaskPage(Answer, frozen=True, kw_only=True):
    """One page of a list; `next` continues it, empty at the end."""

    rows: tuple[TaskRow, ...]
    next: str = ""
    total: int = 0  # of the index that was walked
    exact: bool = True  # the index holds only matching tasks; otherwise `total` is an upper bound
    partial: bool = False  # the budget ended before the page was full; `next` continues from there
    broken: tuple[Broken, ...] = ()  # pools that could not be read in full


def tasks(query: TaskQuery, after: str = "", limit: int = 50) -> TaskPage:
    """The matching tasks, newest first; `after` is the `next` of the previous page. Raises FilterError."""
    query = query.checked()
    limit = max(1, min(limit, MOST))
    reader = open_reader()
    pools = pools_of(reader, query.pool)
    if query.id:
        return _one(reader, pools, query)
    indexes = _indexes(query)
    places = pagination.read(after, pools, indexes) if after else dict.fromkeys(pools, ("", "", ""))
    asked = {pool: _arguments(query, indexes, place, limit) for pool, place in places.items()}
    walks = {pool: _walk(places[pool], reply) for pool, reply in reader.ask("page", asked).items()}
    taken, places = pagination.merge(walks, limit, lambda pool, row: -_age(walks[pool].start[0], row))
    hide = redactor()
    return TaskPage(
        rows=tuple(row_of(pool, row, hide) for pool, row in taken),
        next=pagination.write(places),
        total=sum(walk.size for walk in walks.values()),
        exact=all(_tells(query, walk.start[0]) for walk in walks.values()),
        partial=bool(places) and len(taken) < limit,
        broken=broken_pools(reader.broken, reader.silent),
    )


def _walk(place: pagination.Place, reply: Sequence[Any]) -> pagination.Walk[StoredRow]:
    raw_index, size, ended, _seen, score, last, rows = reply
    index, found = text(raw_index), [read_row(text(id), row, text(its_score)) for id, its_score, *row in rows]
    return pagination.Walk(
        size=size,
        start=(index, *place[1:]),
        rows=[((index, row.score, row.id), row) for row in found],
        next=None if ended else (index, text(score), text(last)),
    )


def _age(index: str, row: StoredRow) -> float:
    """The sort key of rows from different pools: their sequence numbers are not comparable."""
    timed = index == "*" or index.startswith(("state:", "error:"))
    return float(row.score) if timed else float(whole(row.fields.get("c")))


# Which index is walked


def _facets(query: TaskQuery) -> list[tuple[str, str, str]]:
    """For each selected facet: record field, value, and the index of exactly those tasks ('' = none)."""
    pending = query.state == "pending"
    failed = query.state in ("", "failed")  # an error's own index lists the tasks that failed with it
    return [
        (field, value, index)
        for field, value, index in (
            ("s", query.state, f"state:{query.state}"),
            ("n", query.name, f"name:{query.name}"),
            ("l", query.lane, f"lane:{query.lane}" if pending else ""),
            ("k", query.kind, ""),
            ("tg", query.tag, f"tag:{query.tag}"),
            ("ef", query.error, f"error:{query.error}#tasks" if failed else ""),
        )
        if value
    ]


def _tells(query: TaskQuery, index: str) -> bool:
    """Whether this index covers every facet: a lane's tasks are pending, an error's have failed."""
    others = {field for field, _, its_index in _facets(query) if its_index != index}
    return not others or (others == {"s"} and index.startswith(("lane:", "error:")))


def _indexes(query: TaskQuery) -> list[str]:
    return [index for _, _, index in _facets(query) if index] or ["*"]


def _arguments(query: TaskQuery, indexes: list[str], place: pagination.Place, limit: int) -> list[Argument]:
    triples = [part for facet in _facets(query) for part in facet]
    return [limit, BUDGET, *place, len(indexes), *indexes, *triples]


# A list of one


def _one(reader: Reader, pools: Sequence[str], query: TaskQuery) -> TaskPage:
    hide = redactor()
    found = [row_of(detail.pool, _as_row(detail), hide) for detail in _known(reader, pools, query.id)]
    rows = tuple(row for row in found if _matches(row, query))
    return TaskPage(rows=rows, total=len(rows), broken=broken_pools(reader.broken, reader.silent))


def _known(reader: Reader, pools: Sequence[str], task_id: str) -> list[Detail]:
    details = reader.details(pools, task_id, LATE_MS)
    return [detail for detail in details if detail.record or detail.states]


def _as_row(detail: Detail) -> StoredRow:
    record = detail.record
    fields = {text(short): text(value) for short, value in record.items() if short not in (b"a", b"re", b"er")}
    fields.setdefault("s", next(iter(detail.states), ""))
    args = record.get(b"a", b"")
    entered = detail.states.get(fields["s"], 0)
    return StoredRow(detail.id, entered, len(args), fields, args[:4096], record.get(b"er", b""))


def _matches(row: TaskRow, query: TaskQuery) -> bool:
    exact = all(not getattr(query, facet) or getattr(row, facet) == getattr(query, facet) for facet in _EXACT)
    return exact and (not query.tag or query.tag in row.tags)


_EXACT = ("state", "name", "pool", "lane", "kind")
