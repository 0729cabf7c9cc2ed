"""Merged rows: one page of task rows from the replies of several pools, newest first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from queueops.inspect import pagination
from queueops.inspect.redaction import redactor
from queueops.inspect.task_rows import StoredRow, TaskRow, read_row, row_of
from queueops.model.redact import Redactor
from queueops.redis.query_replies import text, whole


class MergedRows(NamedTuple):
    """The rows, and where the next page begins. `indexes`: which was walked in each pool.

    `seen` of `size` candidates were looked at.
    """

    rows: tuple[TaskRow, ...]
    next: str
    indexes: dict[str, str]
    size: int
    seen: int


def merged_rows(
    begun: Mapping[str, pagination.Place],
    replies: Mapping[str, Sequence[Any]],
    limit: int,
    timed: Sequence[str] = (),
    shows: Callable[[str, StoredRow, Redactor], bool] = lambda pool, row, hide: True,
) -> MergedRows:
    """The first rows of all pools. ``begun``: the places from which the pools were asked.

    ``timed``: indexes of a kind whose scores are times. ``shows``: whether the user may see that a row matches.
    """
    walks = {pool: _walk(begun[pool], reply) for pool, reply in replies.items()}
    taken, places = pagination.merge(walks, limit, lambda pool, row: -_age(walks[pool].start[0], row, timed))
    hide = redactor()
    return MergedRows(
        rows=tuple(row_of(pool, row, hide) for pool, row in taken if shows(pool, row, hide)),
        next=pagination.write(places),
        indexes={pool: walk.start[0] for pool, walk in walks.items()},
        size=sum(walk.size for walk in walks.values()),
        seen=sum(whole(reply[3]) for reply in replies.values()),
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


def _age(index: str, row: StoredRow, of_kind: Sequence[str]) -> float:
    """The sort key of rows from different pools: their sequence numbers are not comparable."""
    timed = index == "*" or index in of_kind or index.startswith(("state:", "error:"))
    return float(row.score) if timed else float(whole(row.fields.get("c")))
