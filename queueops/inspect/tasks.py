"""Task lists: filtered, newest first, page by page, at a cost that does not grow with their number."""

from __future__ import annotations

from collections.abc import Sequence

from queueops.inspect import pagination
from queueops.inspect.broken import broken_pools
from queueops.inspect.errors import read_failure, title
from queueops.inspect.models import TaskPage, TaskRow
from queueops.inspect.query import TaskQuery
from queueops.inspect.redaction import redactor
from queueops.inspect.store import LATE_MS, open_reader, parameters, pools_of
from queueops.model.redact import Redactor, cut
from queueops.model.states import CLASSES, TIMED, State, actions_of
from queueops.redis.query_replies import Detail, Page, PageRow, maybe_real, maybe_whole, text, whole
from queueops.redis.reader import Argument, Reader

MOST = 200
BUDGET = 2000
"""Candidates that one page looks at: with more facets than one index covers, a page may end before it is full."""


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
    pages = reader.pages({pool: _arguments(query, indexes, place, limit) for pool, place in places.items()})
    taken, places = _merge(pages, places, limit)
    hide = redactor()
    return TaskPage(
        rows=tuple(row_of(pool, row, hide) for pool, row in taken),
        next=pagination.write(places),
        total=sum(page.size for page in pages.values()),
        exact=all(_tells(query, page.index) for page in pages.values()),
        partial=bool(places) and len(taken) < limit,
        broken=broken_pools(reader.broken, reader.silent),
    )


def row_of(pool: str, row: PageRow, hide: Redactor) -> TaskRow:
    """One row, with its arguments redacted and cut."""
    field = row.fields.get
    kind, name, state = field("k", "task"), field("n", ""), field("s", "")
    preview = _preview(row, parameters(kind, name), hide)
    return TaskRow(
        id=row.id,
        pool=pool,
        name=name,
        kind=kind,
        state=state,
        lane=field("l", "default"),
        priority=whole(field("p")),
        attempt=whole(field("at")),
        retries=whole(field("r")),
        crashes=whole(field("cr")),
        created_ms=whole(field("c")),
        entered_ms=row.entered_ms,
        due_ms=maybe_whole(field("d")) if field("s") in TIMED else None,
        args=preview,
        error=title(read_failure(row.error)),
        worker=field("w", ""),
        progress=maybe_real(field("pr")),
        total=maybe_real(field("to")),
        tags=tuple(filter(None, field("tg", "").split(","))),
        reason=cut(field("y", ""), 200),
        parent=field("pi", ""),
        allowed=actions_of(kind, State(state)) if state in CLASSES else (),
    )


def _preview(row: PageRow, names: tuple[str, ...], hide: Redactor) -> str:
    """Arguments as a short call; cut ones are masked as text, because incomplete data cannot be decoded."""
    if row.args_size <= len(row.args):
        return hide.call(row.args, names) if row.args else ""
    if any(hide.hides(name) for name in names):
        return f"({row.args_size:,} bytes)"
    return f"{cut(hide.text(text(row.args)), 80)} ({row.args_size:,} bytes)"


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


def _arguments(query: TaskQuery, indexes: list[str], place: tuple[str, str, str], limit: int) -> list[Argument]:
    triples = [part for facet in _facets(query) for part in facet]
    return [limit, BUDGET, *place, len(indexes), *indexes, *triples]


Taken = list[tuple[str, PageRow]]

# One list out of those of several pools


def _merge(pages: dict[str, Page], places: pagination.Places, limit: int) -> tuple[Taken, pagination.Places]:
    """The newest rows of all pools, and where each pool continues."""
    taken: Taken = []
    shown = dict.fromkeys(pages, 0)
    while len(taken) < limit:
        heads = [(pool, page.rows[shown[pool]]) for pool, page in pages.items() if shown[pool] < len(page.rows)]
        if not heads:
            break
        pool, row = max(heads, key=lambda head: _age(pages[head[0]].index, head[1]))
        taken.append((pool, row))
        shown[pool] += 1
    return taken, {
        pool: place for pool, page in pages.items() if (place := _place(page, shown[pool], places[pool])) is not None
    }


def _age(index: str, row: PageRow) -> float:
    """The sort key of rows from different pools: their sequence numbers are not comparable."""
    timed = index == "*" or index.startswith(("state:", "error:"))
    return float(row.score) if timed else float(whole(row.fields.get("c")))


def _place(page: Page, shown: int, before: tuple[str, str, str]) -> tuple[str, str, str] | None:
    if shown < len(page.rows):
        last = page.rows[shown - 1] if shown else None
        return (page.index, last.score, last.id) if last else (page.index, *before[1:])
    return None if page.ended else (page.index, page.score, page.id)


# A list of one


def _one(reader: Reader, pools: Sequence[str], query: TaskQuery) -> TaskPage:
    hide = redactor()
    found = [row_of(detail.pool, _as_row(detail), hide) for detail in _known(reader, pools, query.id)]
    rows = tuple(row for row in found if _matches(row, query))
    return TaskPage(rows=rows, total=len(rows), broken=broken_pools(reader.broken, reader.silent))


def _known(reader: Reader, pools: Sequence[str], task_id: str) -> list[Detail]:
    details = reader.details(pools, task_id, LATE_MS)
    return [detail for detail in details if detail.record or detail.states]


def _as_row(detail: Detail) -> PageRow:
    record = detail.record
    fields = {text(short): text(value) for short, value in record.items() if short not in (b"a", b"re", b"er")}
    fields.setdefault("s", next(iter(detail.states), ""))
    args = record.get(b"a", b"")
    entered = detail.states.get(fields["s"], 0)
    return PageRow(detail.id, entered, len(args), fields, args[:4096], record.get(b"er", b""))


def _matches(row: TaskRow, query: TaskQuery) -> bool:
    exact = all(not getattr(query, facet) or getattr(row, facet) == getattr(query, facet) for facet in _EXACT)
    return exact and (not query.tag or query.tag in row.tags)


_EXACT = ("state", "name", "pool", "lane", "kind")
