"""Preview of bulk edits: the data of the first selected chunks before and after a change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from queueops.inspect.answers import Answer
from queueops.inspect.redaction import redactor
from queueops.kinds.mapreduce.inspect.pages import LATEST_FIRST, reader_of
from queueops.kinds.mapreduce.inspect.rows import preview, read_scan
from queueops.kinds.mapreduce.store import MapReduceCalls
from queueops.model.redact import Redactor
from queueops.redis.broker import get_role

SHOWN = 2000
"""The most characters of each side."""


class EditedChunk(Answer, frozen=True, kw_only=True):
    """A chunk's data before and after, redacted; without `after` the data has no fields, and is not changed."""

    number: int
    state: str
    before: str
    after: str


def preview_edit(
    id: str,
    states: Sequence[str],
    pool: str = "",
    *,
    numbers: Sequence[int] = (),
    fields: Mapping[str, Any] | None = None,
    data: Any = None,
    count: int = 3,
) -> tuple[EditedChunk, ...]:
    """Preview `set_fields` or `edit_chunks` on some chunks.

    The chunks are those with these numbers, or else the first in these states. There are `count` of them, at most 20.
    """
    found = reader_of(id, pool)
    if found is None:
        return ()
    (place, reader), hide = found, redactor()
    most = max(1, min(count, 20))
    if not numbers:
        pages = (reader.page(state, most, latest=state in LATEST_FIRST) for state in states)
        numbers = [row.number for page in pages for row in read_scan(page, hide).rows]
    return tuple(
        _edited(row.number, row.state, row.fields["a"] or b"", hide, fields, data)
        for row in get_role(MapReduceCalls).chunk_rows(place, id, numbers[:most], "a")
    )


def _edited(
    number: int, state: str, was: bytes, hide: Redactor, fields: Mapping[str, Any] | None, data: Any
) -> EditedChunk:
    before = preview(was or b"null", hide, SHOWN)
    after = ""
    if fields is None:
        after = preview(_encoded(data), hide, SHOWN)
    elif isinstance(value := _read(was), dict):
        after = preview(_encoded(value | dict(fields)), hide, SHOWN)
    return EditedChunk(number=number, state=state, before=before, after=after)


def _read(data: bytes) -> Any:
    try:
        return json.loads(data) if data else None
    except (ValueError, RecursionError):
        return None


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
