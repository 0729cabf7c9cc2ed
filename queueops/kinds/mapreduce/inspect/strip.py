"""Chunk strip: a task's chunks as columns, with the counts of each state in each column. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from queueops.inspect.answers import Answer
from queueops.kinds.mapreduce.states import CHUNK_STATES
from queueops.kinds.mapreduce.store.reader import ChunkReader
from queueops.redis.query_replies import text, whole

COLUMNS = 500
"""The most columns; a screen cannot show more."""
SETS = ("failed", "errored", "active")

Column = tuple[int, int, int, int, int]


class Strip(Answer, frozen=True, kw_only=True):
    """Chunks `first` to `end` (not included) in columns of `width`, with the counts of each column.

    The order of counts is pending, active, errored, done, failed.
    """

    first: int
    end: int
    width: int
    columns: tuple[tuple[int, int, int, int, int], ...]
    attempts: tuple[int, ...] = ()  # failed attempts of each chunk, if a column is one chunk
    exact: bool = True  # False: a large set was sampled, the counts are estimates


def read_strip(reader: ChunkReader, total: int, first: int, count: int) -> Strip:
    """Up to `count` chunks (0 = all) from `first` on, in at most COLUMNS columns."""
    first = max(0, min(first, total - 1))
    end = total if count <= 0 else min(total, first + count)
    if end <= first:
        return Strip(first=first, end=end, width=1, columns=())
    width = -(-(end - first) // COLUMNS)
    found = reader.columns(first, width, -(-(end - first) // width))
    if width == 1:
        columns, attempts = tuple(map(_unit, found[::2])), tuple(map(whole, found[1::2]))
        return Strip(first=first, end=end, width=1, columns=columns, attempts=attempts)
    return Strip(first=first, end=end, width=width, columns=_wide(first, end, width, found), exact=not found[-1])


def _unit(state: bytes) -> Column:
    pending, active, errored, done, failed = (int(text(state) == one) for one in CHUNK_STATES)
    return pending, active, errored, done, failed


def _wide(first: int, end: int, width: int, found: Sequence[Any]) -> tuple[Column, ...]:
    """Columns of `width` chunks. Chunks in none of the sets that were read count by a sample, or as done."""
    pending, *sets, samples = found
    counted = {
        state: Counter((at - first) // width for number in numbers if (at := whole(number, -1)) >= first)
        for state, (size, numbers) in zip(("active", "errored", "failed"), sets, strict=True)
        if size == len(numbers)
    }
    columns = []
    for index, waiting in enumerate(pending):
        known = {state: count[index] for state, count in counted.items()} | {"pending": waiting}
        sample = text(samples[index]) if samples else ""
        columns.append(_column(min(width, end - first - index * width), known, sample))
    return tuple(columns)


def _column(left: int, known: Mapping[str, int], sample: str) -> Column:
    """The counts of one column, never more than its chunks: the sets were read one after the other.

    Chunks in none of the sets get the state of the sampled chunk, if that set was not read.
    """
    values = dict.fromkeys(CHUNK_STATES, 0)
    for state in (*SETS, "pending"):
        values[state] = min(left, known.get(state, 0))
        left -= values[state]
    rest = sample if sample in SETS and sample not in known else "done"
    values[rest] = left
    pending, active, errored, done, failed = (values[state] for state in CHUNK_STATES)
    return pending, active, errored, done, failed
