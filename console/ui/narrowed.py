"""Lists that were read whole: filtered by a text, sorted by a column, and shown in pages of fifty rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from console.ui.links import with_query

T = TypeVar("T")
ROWS = 50
LONGEST = 200


class Columns(NamedTuple, Generic[T]):
    """What a list is filtered and sorted by: the texts of a row, and for each column the value of a row."""

    words: Callable[[T], Iterable[str]]
    keys: Mapping[str, Callable[[T], Any]]


class Narrowed(NamedTuple, Generic[T]):
    """One page of the rows that match, and what its links need."""

    address: str
    kept: Mapping[str, str]  # other parameters of the URL
    rows: tuple[T, ...]
    text: str
    sort: str  # a column; falling with a minus before it; empty: the list's own order
    number: int  # of the page, from 1 on
    matching: int
    total: int

    @property
    def params(self) -> dict[str, str]:
        """The parameters of this page's URL."""
        return {**self.kept, "f": self.text, "sort": self.sort, "page": str(self.number) if self.number > 1 else ""}

    @property
    def here(self) -> str:
        """The URL of this page."""
        return with_query(self.address, self.params)

    @property
    def before(self) -> str:
        """The URL of the page before this one; empty at the first."""
        return self._page(self.number - 1) if self.number > 1 else ""

    @property
    def behind(self) -> str:
        """The URL of the page behind this one; empty at the last."""
        return self._page(self.number + 1) if self.number * ROWS < self.matching else ""

    @property
    def first(self) -> int:
        """The position of the first row."""
        return (self.number - 1) * ROWS + 1

    @property
    def last(self) -> int:
        """The position of the last row."""
        return min(self.number * ROWS, self.matching)

    def _page(self, number: int) -> str:
        return with_query(self.address, self.params | {"page": str(number) if number > 1 else ""})

    def sorted_by(self, column: str, *, falls_first: bool) -> str:
        """The URL behind the head of a column: one order, then the other, then the list's own."""
        orders = (f"-{column}", column) if falls_first else (column, f"-{column}")
        following = {orders[0]: orders[1], orders[1]: ""}.get(self.sort, orders[0])
        return with_query(self.address, {**self.kept, "f": self.text, "sort": following})


def narrowed(
    address: str, params: Mapping[str, str], rows: Sequence[T], columns: Columns[T], **kept: str
) -> Narrowed[T]:
    """The page that the parameters name. An unknown column is the list's own order, a page too far is the last."""
    text, sort = params.get("f", "").strip()[:LONGEST], params.get("sort", "")
    if sort.removeprefix("-") not in columns.keys:
        sort = ""
    found = matching(params, rows, columns)
    given = params.get("page", "")
    number = int(given) if given.isdecimal() and len(given) < 7 else 1
    number = max(1, min(number, -(-len(found) // ROWS)))
    shown = tuple(found[(number - 1) * ROWS : number * ROWS])
    return Narrowed(address, kept, shown, text, sort, number, len(found), len(rows))


def matching(params: Mapping[str, str], rows: Iterable[T], columns: Columns[T]) -> list[T]:
    """All rows that match the filter of the parameters, in their order."""
    wanted = params.get("f", "").strip()[:LONGEST].casefold().split()
    found = [row for row in rows if _has(wanted, columns.words(row))] if wanted else list(rows)
    sort = params.get("sort", "")
    key = columns.keys.get(sort.removeprefix("-"))
    if key is None:
        return found
    known = [row for row in found if key(row) is not None]
    unknown = [row for row in found if key(row) is None]
    return [*sorted(known, key=key, reverse=sort.startswith("-")), *unknown]


def _has(wanted: Iterable[str], words: Iterable[str]) -> bool:
    every = " ".join(words).casefold()
    return all(word in every for word in wanted)
