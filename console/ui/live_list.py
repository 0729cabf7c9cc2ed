"""A list that lives: what is shown is updated in place, nothing moves; what is new is counted and waits."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from queueops.inspect import TaskRow

MOST = 200  # keys that a browser may send


class Shown(msgspec.Struct, frozen=True):
    """One line of the table; `row` is None where the task has left the list since it was shown."""

    key: str
    row: TaskRow | None


class Living(msgspec.Struct, frozen=True):
    """The lines in the order that the user sees, and how many more there are above them."""

    lines: tuple[Shown, ...]
    new: int

    @property
    def keys(self) -> str:
        """What the browser sends back to get these lines again."""
        return ",".join(line.key for line in self.lines)

    @property
    def newest_ms(self) -> int:
        """When the newest of the lines that are still here entered its state."""
        return max((line.row.entered_ms for line in self.lines if line.row), default=0)


def key(row: TaskRow) -> str:
    """A short name of a task that is safe as an element's id."""
    return short(f"{row.pool} {row.id}")


def short(name: str) -> str:
    """A short name of anything that is safe as an element's id."""
    return hashlib.blake2b(name.encode(errors="replace"), digest_size=5).hexdigest()


def first(rows: Sequence[TaskRow]) -> Living:
    """The list as it is when the page is loaded."""
    return Living(tuple(Shown(key(row), row) for row in rows), 0)


def again(rows: Sequence[TaskRow], keys: Sequence[str], since_ms: int) -> Living:
    """The list that shows `keys`, brought up to date; `since_ms` is what its newest line was when it was loaded."""
    if not keys:
        return first(rows)
    found = {key(row): row for row in rows}
    new = sum(1 for name, row in found.items() if name not in keys and row.entered_ms >= since_ms)
    return Living(tuple(Shown(name, found.get(name)) for name in keys[:MOST]), new)
