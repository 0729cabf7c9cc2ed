"""Trees of parts: the parts of a chain, group or iterator, and theirs, as far as one page holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from queueops.inspect import pagination
from queueops.inspect.answers import Answer
from queueops.inspect.detail import RUNNING_AGAIN
from queueops.inspect.redaction import redactor
from queueops.inspect.store import open_reader
from queueops.inspect.task_rows import TaskRow, read_row, row_of
from queueops.model.ids import NAME
from queueops.model.redact import cut
from queueops.model.states import TERMINAL, State, table
from queueops.redis.query_replies import may_be_id, maybe_whole, text, whole
from queueops.redis.reader import Reader

PAGE, ROWS = 50, 100
"""The most parts of the task itself on one page, and the most rows in all."""
SEARCHES = 4
"""Calls in which a filtered tree searches its parts, 500 each."""
MOST_OPENED = 20
SHOWN = ("", "failed", "open")
"""The filters of parts: all, failed or cancelled, not ended."""
UNWELL = (State.FAILED, State.CANCELLED, State.QUARANTINED)
_POSITION = re.compile(r"[ge]?\d{1,15}", re.ASCII)


class Part(Answer, frozen=True, kw_only=True):
    """One part of a chain, a group or an iterator. `task` is None if it is gone, or its pool does not answer."""

    id: str
    pool: str
    number: int | None = None  # its position from 1 on; None for an iterator's tasks
    task: TaskRow | None = None
    begun_ms: int | None = None
    ended_ms: int | None = None
    elsewhere: bool = False  # the part is in another pool
    silent: str = ""  # the reason why its pool did not answer
    branch: Branch | None = None  # its own parts, if it may have any


class Branch(Answer, frozen=True, kw_only=True):
    """The shown parts of one task, in order."""

    total: int | None = None  # None for an iterator, whose number of parts is not known
    open: int = 0  # parts that have not ended; for an iterator those that it has begun
    first: int = 0  # number of parts before the first row
    next: str = ""  # where the parts after the last row begin; empty if there are none
    counts: tuple[tuple[str, int], ...] = ()  # by state; of very many parts only the ended ones of an iterator
    rows: tuple[Part, ...] = ()

    @property
    def ended(self) -> int:
        """The number of ended parts."""
        return max(0, (self.total or 0) - self.open)

    @property
    def behind(self) -> int | None:
        """The number of parts after the last row; None if it is not known."""
        return None if self.total is None else max(0, self.total - self.first - len(self.rows))


class Above(Answer, frozen=True, kw_only=True):
    """A parent task; its name is empty if it is in another pool."""

    id: str
    pool: str
    name: str = ""
    kind: str = ""
    state: str = ""


class Tree(Answer, frozen=True, kw_only=True):
    """A task's parts, with theirs, and its own parents, from near to far."""

    root: Branch | None = None
    above: tuple[Above, ...] = ()


def tree(id: str, pool: str, *, after: str = "", show: str = "", opened: Sequence[str] = ()) -> Tree:
    """The parts of this task, and its parents. Raises FilterError.

    `after` is the `next` of the previous page. If it is empty, the page begins at the first part, in a long chain near
    the current part. `opened` names parts to show with their own parts, at most MOST_OPENED. Parts with few of their
    own are always open. A chain and a group keep all of their parts. An iterator knows its open tasks, the latest 100
    that ended (or that failed), and those that come next.
    """
    if show not in SHOWN or (after and not _POSITION.fullmatch(after)):
        raise pagination.broken()
    if not may_be_id(id) or not NAME.fullmatch(pool):
        return Tree()
    asked = [each for each in opened if may_be_id(each)][:MOST_OPENED]
    reader = open_reader()

    def read(position: str, taken: int) -> Any:
        return reader.ask("tree", {pool: (id, position, show, PAGE - taken, ROWS - taken, *asked)})[pool]

    branch, above = read(after, 0)
    root = _searched(_Branch(*branch), show, lambda at, taken: read(at, taken)[0]) if branch else None
    return Tree(
        root=None if root is None else _Answer(reader, pool, id, root, show).branch(root),
        above=tuple(_above(pool, *map(text, row)) for row in above),
    )


class _Branch(NamedTuple):
    """Some parts of a composite, in order, as `tree.lua` returns them."""

    total: bytes
    open: bytes
    first: bytes
    next: bytes
    counts: Sequence[Any]
    rows: Sequence[Any]


def _above(pool: str, id: str, place: str, name: str, kind: str, state: str) -> Above:
    return Above(id=id, pool=place or pool, name=cut(name, 200), kind=kind, state=state)


def _searched(root: _Branch, show: str, read: Callable[[str, int], Any]) -> _Branch:
    """Search more parts for a filter: in several calls, so that none blocks the store for long."""
    for _ in range(SEARCHES - 1 if show else 0):
        found = read(text(root.next), len(root.rows)) if root.next and len(root.rows) < PAGE else None
        if not found:
            return root
        further = _Branch(*found)
        root = root._replace(rows=[*root.rows, *further.rows], next=further.next)
    return root


class _Answer:
    """Makes the answer of a reply, and of the parts that are in other pools."""

    def __init__(self, reader: Reader, pool: str, id: str, root: _Branch, show: str) -> None:
        """Read the parts of other pools, in one round trip for pools on the same server."""
        wanted: dict[str, list[tuple[str, str]]] = {}
        for place, part, parent in _far(id, root):
            wanted.setdefault(place, []).append((part, parent))
        self._far = reader.rows(wanted) if wanted else {}
        self._silent = reader.silent
        self._pool, self._show, self._hide = pool, show, redactor()

    def branch(self, found: _Branch) -> Branch:
        """The shown parts of one task; a filter leaves out parts of other pools, too."""
        total = maybe_whole(found.total)
        parts = [self._part(row, alone=total is None) for row in found.rows]
        rows = tuple(part for part in parts if not (self._show and part.elsewhere) or _is_shown(part, self._show))
        return Branch(
            total=total,
            open=whole(found.open),
            first=whole(found.first),
            next=text(found.next),
            counts=_counts(found.counts, rows),
            rows=rows,
        )

    def _part(self, found: Sequence[Any], *, alone: bool) -> Part:
        """`alone`: the part can be retried alone; an ended part of a chain or group is retried with its parent."""
        id, elsewhere, order, gone, *own_row, branch = found
        task_id, place, before = text(id), text(elsewhere) or self._pool, maybe_whole(order)
        part = Part(id=task_id, pool=place, number=None if before is None else before + 1, elsewhere=bool(elsewhere))
        row = self._far.get((place, task_id)) if elsewhere else None if gone else own_row
        if row is None:
            return replace(part, silent=self._silent.get(place, "") if elsewhere else "")
        stored = read_row(task_id, row)
        task = row_of(place, stored, self._hide)
        if task.state in TERMINAL and not alone:
            task = replace(task, allowed=tuple(verb for verb in task.allowed if verb not in RUNNING_AGAIN))
        return replace(
            part,
            task=task,
            begun_ms=maybe_whole(stored.fields.get("b")),
            ended_ms=maybe_whole(stored.fields.get("e")),
            branch=self.branch(_Branch(*branch)) if branch else None,
        )


def _far(id: str, branch: _Branch) -> Iterator[tuple[str, str, str]]:
    """Pool and id of each part in another pool, and its parent."""
    for part, place, *_, own in branch.rows:
        if place:
            yield text(place), text(part), id
        if own:
            yield from _far(text(part), _Branch(*own))


def _is_shown(part: Part, show: str) -> bool:
    state = part.task.state if part.task else None
    return state is not None and (state in UNWELL if show == "failed" else state not in TERMINAL)


def _counts(flat: Sequence[Any], rows: Sequence[Part]) -> tuple[tuple[str, int], ...]:
    """Counts by state. Parts in other pools count as `elsewhere`, but for shown parts, whose pools were asked."""
    counts = Counter({text(state): whole(count) for state, count in zip(flat[::2], flat[1::2], strict=True)})
    for row in rows:
        if row.elsewhere and counts["elsewhere"]:
            counts["elsewhere"] -= 1
            counts[row.task.state if row.task else "gone"] += 1
    shown = ((state, count) for state, count in counts.items() if count)
    order = {str(state): number for number, state in enumerate(table().states)}
    return tuple(sorted(shown, key=lambda item: order.get(item[0], len(order))))
