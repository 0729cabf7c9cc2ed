"""Export: rows of a list as CSV or NDJSON, one line each, read page by page.

A spreadsheet runs a text that begins like a formula. So CSV has such a text behind an apostrophe.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from io import StringIO
from typing import Any, NamedTuple

import msgspec

from queueops.errors.export import ExportStopped
from queueops.inspect.query import TaskQuery
from queueops.inspect.tasks import MOST, tasks
from queueops.model.sentences import encodable

FORMATS = {"csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}
"""The formats, with their media types."""
OF_FORMULAS = tuple("=+-@\t\r\n＝＋－＠")
TASK_COLUMNS = (
    *("id", "pool", "name", "kind", "state", "lane", "priority", "attempt", "retries", "crashes"),
    *("created_ms", "entered_ms", "due_ms", "worker", "progress", "total", "tags", "parent", "reason", "error", "args"),
)
OF_A_PAGE = MOST
"""The rows of a page: so many are in memory."""
Rows = Sequence[Any]


class Piece(NamedTuple):
    """The text of one page, and the number of its rows."""

    text: str
    rows: int


def pages_of(read: Callable[[str], Any]) -> Iterator[Rows]:
    """The rows of all pages of a list. `read` takes the place of a page, empty for the first one.

    Raises ExportStopped if a pool could not be read: an export with gaps would look complete.
    """
    after = ""
    while True:
        page = read(after)
        yield complete(page.rows, page.broken)
        if not (after := page.next):
            return


def complete(rows: Rows, broken: Sequence[object]) -> Rows:
    """The rows, if every pool could be read. Raises ExportStopped."""
    if broken:
        raise ExportStopped(reason=" ".join(map(str, broken)))
    return rows


def task_pages(query: TaskQuery) -> Iterator[Rows]:
    """The tasks that match a filter, the newest first. Raises FilterError and ExportStopped."""
    return pages_of(lambda after: tasks(query, after, OF_A_PAGE))


def pieces(columns: Sequence[str], pages: Iterator[Rows], format: str) -> Iterator[Piece]:
    """Each page as text; the first one of CSV has the names of the columns. A time of CSV is ISO 8601 in UTC."""
    head = _csv_line([name.removesuffix("_ms") for name in columns]) if format == "csv" else ""
    for rows in pages:
        lines = (_line(columns, row, format) for row in rows)
        yield Piece(head + "".join(lines), len(rows))
        head = ""


def _line(columns: Sequence[str], row: Any, format: str) -> str:
    values = {name: msgspec.to_builtins(getattr(row, name), enc_hook=encodable) for name in columns}
    if format == "csv":
        return _csv_line([_cell(name, value) for name, value in values.items()])
    return json.dumps(values) + "\n"


def _csv_line(cells: Sequence[str]) -> str:
    text = StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue()


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return _time(value) if name.endswith("_ms") else str(value)
    return _safe(_text(value))


def _time(ms: float) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):  # no year of a calendar
        return str(ms)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return " ".join(value)
    return json.dumps(value)


def _safe(text: str) -> str:
    return f"'{text}" if text.startswith(OF_FORMULAS) else text
