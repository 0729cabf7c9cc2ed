"""Chunk list: the chunks in one state of all aggregating map-reduce tasks.

The order is by pool, then by the time at which a task's aggregation began. One call looks at a bounded number of tasks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import asdict

from queueops.errors import BrokenPool, BrokerUnavailable, FilterError
from queueops.inspect import pagination
from queueops.inspect.answers import Answer, Broken
from queueops.inspect.redaction import redactor
from queueops.inspect.store import open_reader, pools_of
from queueops.kinds.mapreduce.inspect.rows import ChunkRow, read_scan
from queueops.kinds.mapreduce.states import CHUNK_STATES
from queueops.kinds.mapreduce.store.reader import AggregatingTask, ChunkReader, aggregating_tasks, first_tasks
from queueops.model.explained import advised
from queueops.model.sentences import say
from queueops.redis.broker import get_broker

MOST_ROWS = 200
MOST_TASKS = 500
"""The most tasks that one call looks at."""
_LAST = re.compile(r"(?P<task>\S{1,200})(?: (?P<score>[0-9.e+-]{1,40}) (?P<number>[0-9]{1,15}))?")


class ListedChunk(ChunkRow, frozen=True, kw_only=True):
    """A chunk with its task."""

    pool: str
    id: str  # of the task
    name: str


class ChunkList(Answer, frozen=True, kw_only=True):
    """One page of chunks of all tasks; `next` continues it, empty at the end."""

    rows: tuple[ListedChunk, ...]
    next: str = ""
    partial: bool = False  # the limit of tasks ended the page before it was full; `next` continues from there
    broken: tuple[Broken, ...] = ()  # pools that could not be read


class _Place(NamedTuple):
    """Position of a page: a task, after one of its chunks."""

    entered: str = "-inf"
    task: str = ""
    score: str = ""
    number: str = ""


def all_chunks(state: str = "errored", pool: str = "", *, after: str = "", limit: int = 50) -> ChunkList:
    """The chunks of all aggregating tasks that are in a state. Raises FilterError."""
    if state not in CHUNK_STATES:
        values = {"state": repr(state), "advice": advised(state, CHUNK_STATES)}
        raise FilterError(reason=say("there is no state %(state)s of chunks%(advice)s", **values))
    pools = sorted(pools_of(open_reader(), pool))
    walk = _walked(pools, state, after, max(1, min(limit, MOST_ROWS)))
    next_ = walk.position()
    has_more = bool(next_) and (len(walk.rows) < walk.limit or not _walked(pools, state, next_, 1).is_at_end)
    return ChunkList(
        rows=tuple(walk.rows),
        next=next_ if has_more else "",
        partial=has_more and len(walk.rows) < walk.limit,
        broken=tuple(walk.broken),
    )


def _walked(pools: list[str], state: str, after: str, limit: int) -> _Walk:
    walk, (begin, place) = _Walk(state, limit), _begin(after, pools, state)
    places = {pool: place if pool == begin else _Place() for pool in pools if pool >= begin}
    first = first_tasks(get_broker(), {pool: place.entered for pool, place in places.items()}, state, MOST_TASKS)
    for pool, place in places.items():
        if walk.is_full:
            break
        try:
            walk.pool(pool, place, first.get(pool))
        except (BrokenPool, BrokerUnavailable) as error:
            walk.broken.append(Broken(pool=pool, reason=str(error)))
    return walk


class _Walk:
    """Collects rows until the page is full, or enough tasks were looked at."""

    def __init__(self, state: str, limit: int) -> None:
        self.rows: list[ListedChunk] = []
        self.broken: list[Broken] = []
        self.limit = limit
        self._last: tuple[str, str, str] | None = None
        self._broker = get_broker()
        self._state = state
        self._looked = 0

    @property
    def is_full(self) -> bool:
        """Whether the page ends here."""
        return len(self.rows) >= self.limit or self._looked >= MOST_TASKS

    @property
    def is_at_end(self) -> bool:
        """Whether all tasks were looked at, without a row."""
        return not self.rows and not self.is_full

    def position(self) -> str:
        """The start of the next page; empty when all tasks were looked at."""
        if not self.is_full or self._last is None:
            return ""
        pool, entered, last = self._last
        return pagination.write({pool: (self._state, entered, last)})

    def pool(self, pool: str, place: _Place, first: Sequence[AggregatingTask] | None) -> None:
        """Continue in a pool, from a place; ``first`` are its tasks that have been read."""
        for task in aggregating_tasks(self._broker, pool, self._state, place.entered, first):
            if self.is_full:
                return
            begins_here = (task.entered, task.id) == (place.entered, place.task)
            if task.entered == place.entered and task.id < place.task:
                continue
            self._looked += 1
            after = (place.score, place.number) if begins_here else ("", "")
            self._last = (pool, task.entered, " ".join((task.id, *filter(None, after))))
            if task.chunks:
                self._chunks(pool, task, after)

    def _chunks(self, pool: str, task: AggregatingTask, after: tuple[str, str]) -> None:
        reader = ChunkReader(self._broker, pool, task.id)
        found = read_scan(reader.page(self._state, self.limit - len(self.rows), after=after), redactor())
        for row in found.rows:
            self.rows.append(ListedChunk(pool=pool, id=task.id, name=task.name, **asdict(row)))
        if found.number:
            self._last = (pool, task.entered, f"{task.id} {found.score} {found.number}")


def _begin(after: str, pools: list[str], state: str) -> tuple[str, _Place]:
    """The pool and the place where the page begins. Raises FilterError."""
    if not after:
        return "", _Place()
    for pool, (_, entered, last) in pagination.read(after, pools, [state]).items():
        found = _LAST.fullmatch(last)
        if found is None or not entered:
            raise pagination.broken()
        return pool, _Place(entered, found["task"], found["score"] or "", found["number"] or "")
    raise pagination.broken()
