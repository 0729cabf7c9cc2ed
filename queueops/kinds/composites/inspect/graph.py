"""Graph of a composite: its parts and theirs, where many parts of one name are one node with counts by state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from queueops.inspect.answers import Answer
from queueops.inspect.store import open_reader
from queueops.inspect.task_rows import read_row
from queueops.model.ids import NAME
from queueops.model.redact import cut
from queueops.model.states import TERMINAL
from queueops.redis.query_replies import may_be_id, maybe_whole, text, whole
from queueops.redis.reader import Reader

MOST_READ = 2_500
"""Parts that one page reads; each takes the store about 3 us."""
EACH = 8
"""Parts of one name that are nodes of their own; more are one node."""


class GraphNode(Answer, frozen=True, kw_only=True):
    """A part, or many parts of one composite as one node: then it has no id, and `counts` has more than one."""

    id: str = ""
    pool: str
    kind: str = ""
    name: str = ""
    state: str = ""  # empty if it is gone, or of many parts
    begun_ms: int | None = None
    ended_ms: int | None = None
    counts: tuple[tuple[str, int], ...] = ()  # by state
    total: int | None = None  # the number of its own parts, if it has some and it is known
    read: int = 0  # of these, so many were read
    parts: tuple[GraphNode, ...] = ()

    @property
    def size(self) -> int:
        """The number of parts for which it stands."""
        return sum(count for _state, count in self.counts)


def parts_graph(id: str, pool: str) -> GraphNode | None:
    """The graph of a chain, a group or an iterator; None for other tasks. At most MOST_READ parts are read."""
    if not may_be_id(id) or not NAME.fullmatch(pool):
        return None
    reader = open_reader()
    composites, parts, tallies = reader.ask("parts_graph", {pool: (id, MOST_READ, EACH)})[pool]
    if not composites:
        return None
    found = [_part(pool, row) for row in parts]
    return _Graph(pool, composites, _with_far(reader, pool, found), tallies).node(1)


class _Part(NamedTuple):
    """A part as the reply has it; `above` and `own` are numbers of composites."""

    above: int
    key: str
    id: str
    pool: str
    kind: str
    name: str
    state: str
    begun_ms: int | None
    ended_ms: int | None
    own: int

    @property
    def state_word(self) -> str:
        return self.state or "gone"


def _part(pool: str, row: Sequence[Any]) -> _Part:
    above, key, id, place, kind, name, state, begun, ended, own = row
    words = (text(key), text(id), text(place) or pool, text(kind), cut(text(name), 200), text(state))
    return _Part(whole(above), *words, maybe_whole(begun), maybe_whole(ended), whole(own))


def _with_far(reader: Reader, pool: str, parts: list[_Part]) -> list[_Part]:
    """The parts with what the records of those in other pools say, in one round trip to each server."""
    wanted: dict[str, list[tuple[str, str]]] = {}
    for part in parts:
        if part.pool != pool:
            wanted.setdefault(part.pool, []).append((part.id, ""))
    if not wanted:
        return parts
    rows = reader.rows(wanted)
    return [_told(part, rows.get((part.pool, part.id))) if part.pool != pool else part for part in parts]


def _told(part: _Part, row: Sequence[Any] | None) -> _Part:
    if row is None:
        return part
    fields = read_row(part.id, row).fields
    return part._replace(
        kind=fields.get("k", "task"),
        name=cut(fields.get("n", ""), 200),
        state=fields.get("s", ""),
        begun_ms=maybe_whole(fields.get("b")),
        ended_ms=maybe_whole(fields.get("e")),
    )


class _Graph:
    """Makes the nodes of a reply."""

    def __init__(
        self, pool: str, composites: Sequence[Any], parts: Iterable[_Part], tallies: Iterable[Sequence[Any]]
    ) -> None:
        self._pool = pool
        self._composites = composites
        self._tallies = {(whole(above), text(key)): rest for above, key, *rest in tallies}
        self._below: dict[int, list[_Part]] = {}
        for part in parts:
            self._below.setdefault(part.above, []).append(part)

    def node(self, number: int, of: _Part | None = None) -> GraphNode:
        """A composite with its parts, as far as they were read."""
        id, kind, total, read = self._composites[number - 1]
        facts = {} if of is None else {name: getattr(of, name) for name in ("name", "state", "begun_ms", "ended_ms")}
        return GraphNode(
            id=text(id),
            pool=self._pool,
            kind=text(kind),
            total=maybe_whole(total),
            read=whole(read),
            counts=((of.state_word, 1),) if of else (),
            parts=tuple(self._parts(number)),
            **facts,
        )

    def _parts(self, number: int) -> Iterable[GraphNode]:
        """The parts in order; those that are only counted stand with the others of their key, or at the end."""
        keys: dict[str, list[_Part]] = {}
        for part in self._below.get(number, ()):
            keys.setdefault(part.key, []).append(part)
        for key in dict.fromkeys((*keys, *(key for above, key in self._tallies if above == number))):
            tally, rows = self._tallies.get((number, key)), keys.get(key, [])
            leaves = [part for part in rows if not part.own]
            yield from (self.node(part.own, part) for part in rows if part.own)
            if tally is None:
                yield from map(self._leaf, leaves)
            else:
                yield self._fold(tally, leaves)

    def _leaf(self, part: _Part) -> GraphNode:
        names = ("id", "pool", "kind", "name", "state", "begun_ms", "ended_ms")
        return GraphNode(**{name: getattr(part, name) for name in names}, counts=((part.state_word, 1),))

    def _fold(self, tally: Sequence[Any], leaves: list[_Part]) -> GraphNode:
        """Many parts as one node; it has a name if all of them have it."""
        name, begun, ended, *flat = tally
        names = {cut(text(name), 200), *(part.name for part in leaves)}
        counts = Counter(part.state_word for part in leaves)
        for state, count in zip(flat[::2], flat[1::2], strict=True):
            counts[text(state) or "gone"] += whole(count)
        ends = [maybe_whole(ended), *(part.ended_ms for part in leaves if part.state in TERMINAL)]
        begins = [at for at in (maybe_whole(begun), *(part.begun_ms for part in leaves)) if at is not None]
        is_over = all(state in TERMINAL or state == "gone" for state in counts)
        return GraphNode(
            pool=self._pool,
            name=names.pop() if len(names) == 1 else "",
            begun_ms=min(begins, default=None),
            ended_ms=max((at for at in ends if at is not None), default=None) if is_over else None,
            counts=tuple(counts.most_common()),
        )
