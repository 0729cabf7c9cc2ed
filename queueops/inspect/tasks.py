"""Task lists: filtered, newest first, page by page, at a cost that does not grow with their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from queueops.errors import FilterError
from queueops.inspect import pagination
from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.facets import Facets, facet_arguments, read_facets
from queueops.inspect.filter_check import meets, of_row, of_stored
from queueops.inspect.filter_fields import encoded
from queueops.inspect.merged_rows import merged_rows
from queueops.inspect.query import TaskQuery, fits
from queueops.inspect.redaction import conceals, redactor
from queueops.inspect.shared_readings import SharedReadings
from queueops.inspect.store import LATE_MS, open_reader, pools_of
from queueops.inspect.task_rows import LONGEST_PREVIOUS, StoredRow, TaskRow, read_row, row_of, shows
from queueops.model import subkeys
from queueops.model.redact import Redactor
from queueops.model.sentences import say
from queueops.model.states import State
from queueops.redis.query_replies import Detail, text, whole
from queueops.redis.reader import Argument, Reader

MOST = 200
MOST_SORTED = 500
"""Rows of one reading for a page that sorts them."""
STEPS = 4
"""The most round trips of one step of a search, beside the one for the pools."""
BUDGET = 1000
"""Most candidates of one page. With more facets than one index covers, a page may end before it is full."""


class TaskPage(Answer, frozen=True, kw_only=True):
    """One page of a list; `next` continues it, empty at the end."""

    rows: tuple[TaskRow, ...]
    next: str = ""
    total: int = 0  # of the index that was walked
    exact: bool = True  # the index holds only matching tasks; otherwise `total` is an upper bound
    partial: bool = False  # the budget ended before the page was full; `next` continues from there
    seen: int = 0  # the candidates that were looked at
    broken: tuple[Broken, ...] = ()  # pools that could not be read in full


class SearchStep(Answer, frozen=True, kw_only=True):
    """A part of a search: where the next match is, or where the search continues; both empty at the end."""

    match: str = ""  # the `after` of a page that begins with the next match
    next: str = ""
    seen: int = 0  # the candidates that were looked at, without a match
    total: int = 0  # the candidates of the whole search


class TaskList(Answer, frozen=True, kw_only=True):
    """A page of a list, with what a browser shows beside it; each pool's part is of one moment."""

    page: TaskPage
    facets: Facets
    shown: dict[tuple[str, str], TaskRow | None]  # by pool and id, the rows that were asked for; None: deleted


def tasks(query: TaskQuery, after: str = "", limit: int = 50) -> TaskPage:
    """The matching tasks, newest first; `after` is the `next` of the previous page. Raises FilterError."""
    query = _permitted(query)
    limit = max(1, min(limit, MOST))
    reader = open_reader()
    pools = pools_of(reader, query.pool)
    if query.id:
        return _one(reader, pools, query)
    places = _places(query, after, pools)
    return _page(query, limit, places, reader.ask("page", page_arguments(query, places, limit)), reader)


def search(query: TaskQuery, after: str, most: int = STEPS) -> SearchStep:
    """Search on behind `after`, past tasks that do not match, in a few round trips. Raises FilterError."""
    query = _permitted(query)
    reader = open_reader()
    pools = pools_of(reader, query.pool)
    seen = 0
    for _ in range(most):
        places = _places(query, after, pools)
        page = _page(query, 1, places, reader.ask("page", page_arguments(query, places, 1)), reader)
        if page.rows:
            return SearchStep(match=after, seen=seen, total=page.total)
        seen, after = seen + page.seen, page.next
        if not after:
            break
    return SearchStep(next=after, seen=seen, total=page.total)


class Walked(NamedTuple):
    """What a walk over all matching tasks of a pool reads: the suffix of an index's key, and the size of the index.

    "*" stands for the indexes of all states. `exact`: the index holds only matching tasks.
    """

    suffix: str
    size: int
    exact: bool


class Walks(NamedTuple):
    """The walk of each pool that has matching tasks, and the pools that could not be read."""

    found: dict[str, Walked]
    broken: tuple[Broken, ...]


def walks(query: TaskQuery) -> Walks:
    """The smallest index of each pool that has all matching tasks. Raises FilterError, also for a searched text.

    Raises BrokerUnavailable if no pool can be read.
    """
    query = query.whole()
    reader = open_reader()
    pools = pools_of(reader, query.pool)
    asked = page_arguments(query, dict.fromkeys(pools, pagination.BEGIN), 0)
    found = {
        pool: Walked(index := text(reply[0]), whole(reply[1]), _tells(query, index, pool))
        for pool, reply in reader.ask("page", asked).items()
    }
    known = {pool: walked for pool, walked in found.items() if walked.size}
    return Walks(known, broken_pools({}, reader.silent))


def wanted_fields(query: TaskQuery, pool: str) -> tuple[tuple[str, str], ...]:
    """The fields of a record that the filter asks for in a pool, with their values; "?" stands for its conditions."""
    failed = [("s", str(State.FAILED))] if query.error and not query.state else []
    return (*failed, *((field, value) for field, value, _ in _facets(query, pool)))


class _Reading(NamedTuple):
    """One reading of a list: the pools there are, and the rows that were read, by pool and id (None: deleted)."""

    page: TaskPage
    facets: Facets
    pools: frozenset[str]
    rows: dict[tuple[str, str], TaskRow | None]


_READINGS: SharedReadings[_Reading] = SharedReadings()


def browse(
    query: TaskQuery,
    after: str = "",
    limit: int = 50,
    shown: Sequence[tuple[str, str]] = (),
    max_age_s: float = 0.0,
) -> TaskList:
    """A page of the list, the facets, and the rows that a browser shows, in one reading of each pool.

    `shown` has the pool and the id of each row; pools that do not exist are left out. With `max_age_s` the reading may
    be shared with other pages of the same list; then a shown row that it does not have is read beside it.
    """
    query = _permitted(query)
    limit = max(1, min(limit, MOST_SORTED))
    wanted = tuple(shown[:MOST])
    reading = _READINGS.read((query, after, limit), max_age_s, lambda: _browse(query, after, limit, wanted))
    if missing := [place for place in wanted if place not in reading.rows and place[0] in reading.pools]:
        reading.rows.update(rows_now(missing))
    rows = {place: reading.rows[place] for place in wanted if place in reading.rows}
    return TaskList(page=reading.page, facets=reading.facets, shown=rows)


def _browse(query: TaskQuery, after: str, limit: int, shown: Sequence[tuple[str, str]]) -> _Reading:
    reader = open_reader()
    known = reader.pools()
    pools = pools_of(reader, query.pool)
    places = {} if query.id else _places(query, after, pools)
    asked = page_arguments(query, places, limit)
    wanted = {pool: [id for its_pool, id in shown if its_pool == pool] for pool in known}
    counting = facet_arguments(query)
    replies = reader.ask("browse", {pool: _browsing(asked.get(pool, ()), counting, wanted[pool]) for pool in known})
    hide = redactor()
    pages = {pool: reply[0] for pool, reply in replies.items() if pool in places}
    found = {pool: [*(pages[pool][6] if pool in pages else ()), *reply[2]] for pool, reply in replies.items()}
    asked_for = set(shown)
    rows = [
        (pool, read_row(text(id), row))
        for pool, each in found.items()
        for id, _, *row in each
        if (pool, text(id)) in asked_for
    ]
    page = _one(reader, pools, query) if query.id else _page(query, limit, places, pages, reader)
    here: dict[tuple[str, str], TaskRow | None] = {(row.pool, row.id): row for row in page.rows}
    return _Reading(
        page=page,
        facets=read_facets(query, {pool: reply[1] for pool, reply in replies.items()}),
        pools=frozenset(replies),
        rows=here | {(pool, row.id): row_of(pool, row, hide) if row.fields.get("s") else None for pool, row in rows},
    )


def rows_now(places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], TaskRow | None]:
    """Tasks as they are now, by pool and id: None for one that is gone. Those of a silent pool are left out.

    Raises BrokerUnavailable.
    """
    reader, hide = open_reader(), redactor()
    pools = {pool for pool, _ in places}
    found = reader.rows({pool: [(id, "") for its_pool, id in places if its_pool == pool] for pool in pools})
    rows = {(pool, id): row_of(pool, read_row(id, row), hide) for (pool, id), row in found.items()}
    return {place: rows.get(place) for place in places if place[0] not in reader.silent}


def matches(row: TaskRow, query: TaskQuery) -> bool:
    """Whether a row would be in the list of this filter. An error's fingerprint counts for failed tasks alone.

    A searched text is left out, as is the text of an error: a shown row stays as it was found.
    """
    if query.q and not meets(query.condition(row.pool, types_only=conceals()), of_row(row)):
        return False
    exact = all(not getattr(query, facet) or getattr(row, facet) == getattr(query, facet) for facet in _EXACT)
    exact = exact and fits(query.state, row.state)
    failed = not query.error or row.state == State.FAILED
    return exact and failed and (not query.tag or query.tag in row.tags) and query.id in ("", row.id)


def _permitted(query: TaskQuery) -> TaskQuery:
    """The valid filter. Who may not see arguments may not find out by a search what they are."""
    if query.contains and conceals():
        raise FilterError(reason=say("arguments cannot be searched without the permission to see them."))
    return query.checked()


def _browsing(page: Sequence[Argument], counting: Sequence[Argument], ids: Sequence[str]) -> list[Argument]:
    return [len(page), *page, len(counting), *counting, *ids]


def _places(query: TaskQuery, after: str, pools: Sequence[str]) -> dict[str, pagination.Place]:
    return pagination.read(after, pools, _indexes(query)) if after else dict.fromkeys(pools, pagination.BEGIN)


def _page(
    query: TaskQuery,
    limit: int,
    begun: Mapping[str, pagination.Place],
    replies: Mapping[str, Sequence[Any]],
    reader: Reader,
) -> TaskPage:
    found = merged_rows(begun, replies, limit, shows=partial(_shows, query))
    return TaskPage(
        rows=found.rows,
        next=found.next,
        total=found.size,
        exact=all(_tells(query, index, pool) for pool, index in found.indexes.items()),
        partial=bool(found.next) and len(found.rows) < limit,
        seen=found.seen,
        broken=broken_pools(reader.broken, reader.silent),
    )


# Which index is walked


def _facets(query: TaskQuery, pool: str) -> list[tuple[str, str, str]]:
    """For each selected facet: record field, value, and the index of exactly those tasks ('' = none)."""
    pending = query.state == "pending"
    failed = query.state in ("", "failed")  # an error's own index lists the tasks that failed with it
    return [
        (field, value, index)
        for field, value, index in (
            ("s", query.state, f"state:{query.state}"),
            ("n", query.name, f"name:{query.name}"),
            ("l", query.lane, f"lane:{query.lane}" if pending else ""),
            ("k", query.kind, "" if query.kind == "task" else f"kind:{query.kind}"),
            ("tg", query.tag, f"tag:{query.tag}"),
            ("a", query.contains, ""),
            ("?", encoded(query.condition(pool, types_only=conceals())), ""),
            ("ef", query.error, f"error:{query.error}{subkeys.TASKS.name}" if failed else ""),
        )
        if value
    ]


def _tells(query: TaskQuery, index: str, pool: str) -> bool:
    """Whether this index covers every facet: a lane's tasks are pending, an error's have failed."""
    others = {field for field, _, its_index in _facets(query, pool) if its_index != index}
    return not others or (others == {"s"} and index.startswith(("lane:", "error:")))


def _indexes(query: TaskQuery) -> list[str]:
    return [index for _, _, index in _facets(query, "") if index] or ["*"]


def page_arguments(
    query: TaskQuery, places: Mapping[str, pagination.Place], limit: int, budget: int = 0
) -> dict[str, list[Argument]]:
    """The arguments of the function `page` for each pool."""
    indexes = _indexes(query)
    return {
        pool: [
            limit,
            budget or BUDGET,
            *place,
            len(indexes),
            *indexes,
            *(part for facet in _facets(query, pool) for part in facet),
        ]
        for pool, place in places.items()
    }


def _shows(query: TaskQuery, pool: str, row: StoredRow, hide: Redactor) -> bool:
    """Whether a row matches by what the user may see of it."""
    if not shows(row, query.contains, hide):
        return False
    return not query.q or meets(query.condition(pool, types_only=conceals()), of_stored(row, pool, hide))


# A list of one


def _one(reader: Reader, pools: Sequence[str], query: TaskQuery) -> TaskPage:
    hide = redactor()
    stored = [(detail.pool, _as_row(detail)) for detail in _known(reader, pools, query.id)]
    found = [row_of(pool, row, hide) for pool, row in stored if _shows(query, pool, row, hide)]
    rows = tuple(row for row in found if matches(row, query))
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
    previous = record.get(b"pv", b"")[:LONGEST_PREVIOUS]
    return StoredRow(detail.id, entered, len(args), fields, args[:4096], record.get(b"er", b""), previous=previous)


_EXACT = ("name", "pool", "lane", "kind")
