"""Live list: updates the shown rows in place; new rows are counted, and appear after a reload."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote_plus

import msgspec

from queueops.inspect import TaskQuery, TaskRow, matches
from queueops.model.ids import ID, NAME

MOST = 200  # the most rows that a browser may send
MOST_TEXT = 2500
"""So many characters of a URL may name rows: web servers take 4,000 to 8,000 for all of it."""
UNNAMED = "~"
"""Begins the place of a row whose id does not fit into the URL: it is updated while it is on its page."""


class Place(NamedTuple):
    """A row that a browser shows: its key, and its pool and id, if the URL had room for them."""

    key: str
    pool: str = ""
    id: str = ""


class Shown(msgspec.Struct, frozen=True):
    """One row of the table.

    `row` is None for a deleted task; with `unknown` the browser keeps the row that it has. `moved`: the task does not
    match the filter any more.
    """

    place: Place
    row: TaskRow | None
    moved: bool = False
    unknown: bool = False

    @property
    def key(self) -> str:
        """A part of the ids of the row's elements."""
        return self.place.key


class Living(msgspec.Struct, frozen=True):
    """The rows in the order that the user sees; the number of newer ones above them, and of those that moved."""

    lines: tuple[Shown, ...]
    new: int = 0

    @property
    def places(self) -> str:
        """The rows, as the browser sends them back to get these rows again; a pool is named where it changes."""
        parts: list[str] = []
        length, pool = 0, ""
        for line in self.lines:
            part = f"{line.place.pool if line.place.pool != pool else ''} {line.place.id}"
            length += len(quote_plus(part)) + 3
            if length > MOST_TEXT or not line.place.id:
                parts.append(f"{UNNAMED}{line.key}")
                continue
            pool = line.place.pool
            parts.append(part)
        return ",".join(parts)

    @property
    def changed(self) -> int:
        """The number of new rows, and of shown rows that do not match any more."""
        return self.new + sum(1 for line in self.lines if line.moved or not (line.row or line.unknown))

    @property
    def newest_ms(self) -> int:
        """The time at which the newest of the present rows entered its state."""
        return max((line.row.entered_ms for line in self.lines if line.row), default=0)


def key(row: TaskRow) -> str:
    """A short id of a task that is safe as an element's id."""
    return short(f"{row.pool} {row.id}")


def short(name: str) -> str:
    """A short id of any text that is safe as an element's id."""
    return hashlib.blake2b(name.encode(errors="replace"), digest_size=5).hexdigest()


def read(places: str) -> list[Place]:
    """The rows that a browser shows; what no page has written is left out."""
    found: list[Place] = []
    pool = ""
    for part in places.split(",")[:MOST]:
        before, space, id = part.partition(" ")
        if not space and part.startswith(UNNAMED) and part[1:].isalnum():
            found.append(Place(part[1:11]))
            continue
        pool = before or pool
        if ID.fullmatch(id) and NAME.fullmatch(pool):
            found.append(Place(short(f"{pool} {id}"), pool, id))
    return found


def first(rows: Sequence[TaskRow]) -> Living:
    """The list at the load of the page."""
    return Living(tuple(Shown(_place(row), row) for row in rows))


def again(
    rows: Iterable[TaskRow],
    places: Sequence[Place],
    now: Mapping[tuple[str, str], TaskRow | None],
    query: TaskQuery,
    since_ms: int,
) -> Living:
    """The list with the rows at `places`, as they are `now`; `since_ms` is the `newest_ms` at the load of the page."""
    found = {key(row): row for row in rows}
    if not places:
        return first(list(found.values()))
    shown = {place.key for place in places}
    new = sum(1 for name, row in found.items() if name not in shown and row.entered_ms >= since_ms)
    return Living(tuple(_updated(place, found, now, query) for place in places), new)


def _updated(
    place: Place,
    found: Mapping[str, TaskRow],
    now: Mapping[tuple[str, str], TaskRow | None],
    query: TaskQuery,
) -> Shown:
    if row := found.get(place.key):
        return Shown(place, row)
    if (place.pool, place.id) not in now:
        return Shown(place, None, unknown=True)
    row = now[place.pool, place.id]
    return Shown(place, row, moved=row is not None and not matches(row, query))


def _place(row: TaskRow) -> Place:
    """The id goes into the URL, if it is one that the engine gives."""
    named = bool(ID.fullmatch(row.id) and NAME.fullmatch(row.pool))
    return Place(key(row), row.pool, row.id) if named else Place(key(row))
