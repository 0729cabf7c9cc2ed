"""Live list: updates the shown rows in place; new rows are counted, and appear after a reload."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from queueops.inspect import TaskRow

MOST = 200  # the most keys that a browser may send


class Shown(msgspec.Struct, frozen=True):
    """One row of the table; `row` is None if the task has left the list since it was shown."""

    key: str
    row: TaskRow | None


class Living(msgspec.Struct, frozen=True):
    """The rows in the order that the user sees, and the number of newer ones above them."""

    lines: tuple[Shown, ...]
    new: int

    @property
    def keys(self) -> str:
        """The keys that the browser sends back to get these rows again."""
        return ",".join(line.key for line in self.lines)

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


def first(rows: Sequence[TaskRow]) -> Living:
    """The list at the load of the page."""
    return Living(tuple(Shown(key(row), row) for row in rows), 0)


def again(rows: Sequence[TaskRow], keys: Sequence[str], since_ms: int) -> Living:
    """The list with the rows `keys`, updated; `since_ms` is the `newest_ms` at the load of the page."""
    if not keys:
        return first(rows)
    found = {key(row): row for row in rows}
    new = sum(1 for name, row in found.items() if name not in keys and row.entered_ms >= since_ms)
    return Living(tuple(Shown(name, found.get(name)) for name in keys[:MOST]), new)
