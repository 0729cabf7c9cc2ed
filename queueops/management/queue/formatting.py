"""Terminal output: formats answers. Texts of tasks may be hostile: control characters are escaped."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from django.utils import timezone

from queueops.inspect import Broken, Listing
from queueops.model.sentences import encodable

WIDEST = 60
T = TypeVar("T")
Rows = Iterable[Sequence[object]]


def to_json(answer: Any) -> str:
    """Any answer as JSON on one line."""
    return json.dumps(msgspec.to_builtins(answer, enc_hook=encodable), ensure_ascii=True, default=str)


def counted(number: int, one: str, many: str) -> str:
    """A number with its words: `one` of a single thing, as in "job was", else `many`, as in "jobs were"."""
    return f"{number:,} {one if number == 1 else many}"


def table(head: Sequence[str], rows: Rows, widest: int = WIDEST) -> str:
    """A table of text; wide columns are cut, the last one at twice the width."""
    limits = [*(widest for _ in head[1:]), 2 * widest]
    lines = [list(head), *(list(map(cell, row, limits)) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def listing(
    rows: Listing[T], head: Sequence[str], line: Callable[[T], Sequence[object]], *, empty: str, as_json: bool
) -> Iterator[str]:
    """All rows as a table, or the text for none, after the pools that could not be read."""
    yield from shown_broken(rows.broken, aside=as_json)
    yield to_json(rows) if as_json else table(head, map(line, rows)) if rows else empty


def shown_broken(pools: Iterable[Broken], *, aside: bool = False) -> Iterator[str]:
    """The pools that could not be read; with `aside` on the standard error."""
    for broken in pools:
        line = f"DANGER: {printable(str(broken))}"
        if aside:
            print(line, file=sys.stderr)
        else:
            yield line


def pairs(rows: Iterable[tuple[str, object]]) -> str:
    """Names and values, one a line; empty values are left out."""
    known = [(name, value) for name, value in rows if value not in (None, "", ())]
    width = max((len(name) for name, _ in known), default=0)
    return "\n".join(f"{name.ljust(width)}  {cell(value, 10_000)}" for name, value in known)


def cell(value: object, widest: int = WIDEST) -> str:
    """One value on one line."""
    text = printable("-" if value is None else str(value))
    return text if len(text) <= widest else text[: widest - 1] + "…"


def printable(text: str, *, lines: bool = False) -> str:
    """Text without control characters; `lines` keeps its line breaks."""
    return "".join(sign if sign.isprintable() or (lines and sign == "\n") else _escaped(sign) for sign in text)


def moment(ms: int | None) -> str:
    """An epoch time in the time zone of the settings, with its offset."""
    if not ms:
        return ""
    try:
        return datetime.fromtimestamp(ms / 1000, timezone.get_current_timezone()).isoformat(" ", "milliseconds")
    except (ValueError, OverflowError, OSError):
        return f"{ms} ms, which is not a valid time"


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode() if ord(sign) < 0xD800 else repr(sign)[1:-1]
