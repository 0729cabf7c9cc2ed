"""The parts of one chain, group or iterator, in their order, a page at a time."""

from __future__ import annotations

import re

from queueops.inspect import cursor
from queueops.inspect.answers import Part, PartPage
from queueops.inspect.redact import Redactor
from queueops.inspect.source import open_reader, pools_of, redactor
from queueops.inspect.tasks import row_of
from queueops.redis.facts import ChildRow, may_be_id, maybe_whole

MOST = 200
_ORDER = re.compile(r"g?\d{1,15}", re.ASCII)


def parts(id: str, pool: str, after: str = "", limit: int = 50) -> PartPage:
    """The parts of this task; `after` is the `next` of the page before. Raises FilterError.

    A chain and a group keep all of theirs; an iterator knows those that it has begun and those that come next.
    """
    if after and not _ORDER.fullmatch(after):
        raise cursor.broken()
    reader = open_reader()
    if not may_be_id(id) or not pools_of(reader, pool):
        return PartPage(rows=())
    page, hide = reader.children(pool, id, max(1, min(limit, MOST)), after), redactor()
    return PartPage(rows=tuple(_part(pool, child, hide) for child in page.rows), open=page.open, next=page.next)


def _part(pool: str, child: ChildRow, hide: Redactor) -> Part:
    number = None if child.order is None else child.order + 1
    if child.row is None:
        return Part(id=child.id, number=number)
    field = child.row.fields.get
    return Part(
        id=child.id,
        number=number,
        task=row_of(pool, child.row, hide),
        begun_ms=maybe_whole(field("b")),
        ended_ms=maybe_whole(field("e")),
    )
