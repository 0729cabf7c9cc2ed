"""Chunks of a map-reduce task: a page of them, or one in full.

However many chunks there are, a question reads a bounded number: long sets are counted and sampled, not walked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from queueops.errors import FilterError
from queueops.inspect import pagination
from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.redaction import redactor
from queueops.inspect.store import open_reader
from queueops.kinds.mapreduce.inspect.rows import ChunkDetail, ChunkRow, detail_of, read_scan
from queueops.kinds.mapreduce.states import CHUNK_STATES
from queueops.kinds.mapreduce.store.reader import ChunkReader
from queueops.model.explained import advised
from queueops.model.ids import NAME
from queueops.model.sentences import say
from queueops.redis.broker import get_broker
from queueops.redis.query_replies import may_be_id

MOST_ROWS = 200
NUMBER = re.compile("[0-9]{1,15}")
LATEST_FIRST = ("done", "failed")
"""Lists of ended chunks begin with the latest; lists of running or waiting chunks with the oldest."""


class ChunkPage(Answer, frozen=True, kw_only=True):
    """One page of chunks; `next` continues it, empty at the end."""

    rows: tuple[ChunkRow, ...]
    next: str = ""
    total: int = 0  # in the state, with any error
    partial: bool = False  # the budget ended before the page was full; `next` continues from there
    broken: tuple[Broken, ...] = ()  # its pool, when not all could be read


def chunks(
    id: str, pool: str = "", *, state: str = "", error: str = "", after: str = "", limit: int = 50
) -> ChunkPage | None:
    """A page of a task's chunks: in one state, or all by number; `error` is a fingerprint. Raises FilterError."""
    if state and state not in CHUNK_STATES:
        values = {"state": repr(state), "advice": advised(state, CHUNK_STATES)}
        raise FilterError(reason=say("there is no state %(state)s of chunks%(advice)s", **values))
    found = reader_of(id, pool)
    if found is None:
        return None
    place, reader = found
    index = state or "*"
    score, number = _begin(after, place, index)
    rows = max(1, min(limit, MOST_ROWS))
    latest = state in LATEST_FIRST
    page = reader.page(state, rows, after=(score, number), latest=latest, fingerprint=error[:100])
    walked = read_scan(page, redactor())
    return ChunkPage(
        rows=walked.rows,
        next="" if walked.ended else pagination.write({place: (index, walked.score, walked.number)}),
        total=walked.size,
        partial=not walked.ended and len(walked.rows) < rows,
        broken=broken_pools({place: reader.broken}),
    )


def chunks_named(id: str, numbers: Sequence[int], pool: str = "") -> tuple[ChunkRow, ...]:
    """These chunks, in this order, at most 200; a chunk that is gone has an empty state."""
    found = reader_of(id, pool)
    return () if found is None else read_scan(found[1].named(numbers[:MOST_ROWS]), redactor()).rows


def chunk(id: str, number: int, pool: str = "") -> ChunkDetail | None:
    """One chunk in full; None if it does not exist."""
    found = reader_of(id, pool)
    if found is None:
        return None
    single = found[1].single(number)
    return detail_of(id, found[0], number, single, redactor()) if single.record or single.lost else None


def _begin(after: str, place: str, index: str) -> tuple[str, str]:
    """Score and number of the last shown chunk; empty at the beginning. Raises FilterError."""
    if not after:
        return "", ""
    _, score, number = pagination.read(after, [place], [index]).get(place, ("", "", ""))
    if number and not NUMBER.fullmatch(number):
        raise pagination.broken()
    return score, number


def reader_of(id: str, pool: str) -> tuple[str, ChunkReader] | None:
    """The pool that holds the task; without a named pool all pools are searched. A named pool is not checked."""
    if not may_be_id(id) or (pool and not NAME.fullmatch(pool)):
        return None
    reader = open_reader()
    place = pool or reader.locate(reader.pools(), [id]).get(id)
    if place is None:
        reader.ensure_all()
    return None if place is None else (place, ChunkReader(get_broker(), place, id))
