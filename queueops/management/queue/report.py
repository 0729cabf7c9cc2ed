"""Report of an action: the answer for each task, as printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from queueops.management.queue.formatting import table, to_json
from queueops.management.queue.lookup import told_others
from queueops.management.queue.numbers import nouns
from queueops.model.contracts import Row

SHOWN = 1000
"""The most tasks that are listed, if there are more than are counted ahead: the refused ones."""
LONGEST_REASON = 400
"""A reason names other tasks and the remedy, so it is not cut before this length."""

MOST_LOOKED_UP = 5
"""Of so many ids without a task is said what else they are."""


def report(rows: Sequence[Row], *, as_json: bool, record: str = "") -> Iterator[str]:
    """The answer for each task, which has this record. Fails at its end if any was refused."""
    if as_json:
        yield to_json(rows)
    elif rows:
        yield _table(rows)
        yield f"{sum(map(_is_done, rows)):,} of {len(rows):,} done"
        unknown = [row.id for row in rows if row.word == "GONE"][:MOST_LOOKED_UP]
        yield from (f"{id}: {told}" for id in unknown for told in told_others(id))
    else:
        yield f"No {nouns(record)[0]} matches."
    if not all(map(_is_done, rows)):
        raise SystemExit(1)


def streamed(answers: Iterator[list[Row]]) -> Iterator[str]:
    """All rows as one JSON list over many lines, not held in memory. Fails at its end if any was refused."""
    is_first, refused = True, 0
    for rows in answers:
        yield f"{'[' if is_first else ','}{to_json(rows)[1:-1]}"
        is_first, refused = False, refused + sum(not _is_done(row) for row in rows)
    yield "]"
    if refused:
        raise SystemExit(1)


def summed(answers: Iterator[list[Row]]) -> Iterator[str]:
    """The refused tasks, and the number of changed ones. Fails at its end if any was refused."""
    shown: list[Row] = []
    count = refused = 0
    for rows in answers:
        others = [row for row in rows if not _is_done(row)]
        shown += others[: SHOWN - len(shown)]
        count, refused = count + len(rows), refused + len(others)
    if refused:
        yield _table(shown)
    yield f"{count - refused:,} of {count:,} done"
    if refused:
        raise SystemExit(1)


def _table(rows: Sequence[Row]) -> str:
    cells = ((row.id, row.word, row.state, row.detail) for row in rows)
    return table(("ID", "ANSWER", "STATE", "REASON"), cells, widest=LONGEST_REASON)


def _is_done(row: Row) -> bool:
    return row.word in ("OK", "REPEAT")
