"""Facets: the values by which a list can be filtered, with counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from queueops.inspect.query import TaskQuery, fits
from queueops.inspect.store import open_reader, pools_of
from queueops.model import kinds
from queueops.model.states import states_of, table
from queueops.redis.query_replies import text
from queueops.redis.reader import Argument

MOST = 50
ALWAYS = ("name", "lane", "pool")
"""Facets whose values are offered even without tasks."""
LISTED = ("state", "kind", "name", "lane", "tag", "error")
COUNTED_WITHIN: dict[str, frozenset[str]] = {
    "state": frozenset({"name", "lane", "kind", "pool"}),
    "kind": frozenset({"state", "pool"}),
    "name": frozenset({"state", "pool"}),
    "pool": frozenset({"state", "name", "lane", "kind"}),
    "lane": frozenset({"state", "pool"}),
    "tag": frozenset({"pool"}),
    "error": frozenset({"pool"}),
}
"""For each facet the other facets that its counters include; with another facet selected its count is unknown."""
ONE_OF = frozenset({"name", "lane", "kind"})
"""No counter includes two of these."""

Facets = dict[str, list[tuple[str, int | None]]]


def facets(query: TaskQuery) -> Facets:
    """For each facet its values, and the number of tasks of each within the selection of the other facets.

    The number is None where no counter knows it. Counts by name, kind and lane come from counters. If these were lost,
    the consistency check rebuilds them, but not those of large states.
    """
    query, reader = query.checked(), open_reader()
    return read_facets(query, reader.ask("facets", dict.fromkeys(reader.pools(), facet_arguments(query))))


def counts_by_pool(query: TaskQuery) -> dict[str, int | None]:
    """The number of matching tasks of each pool; None where no counter knows it."""
    reader = open_reader()
    replies = reader.ask("facets", dict.fromkeys(pools_of(reader, query.pool), facet_arguments(query)))
    return {pool: count_in(query, read_facets(query, {pool: reply})) for pool, reply in replies.items()}


def count_in(query: TaskQuery, counted: Facets) -> int | None:
    """The number of matching tasks by the count of a facet within the others; None if no counter knows it."""
    for facet, chosen in query.params().items():
        counts = dict(counted.get(facet, ()))
        if facet == "state" and None not in (each := [counts.get(state) for state in states_of(chosen)]):
            return sum(filter(None, each))
        none = 0 if facet == "kind" and None not in counts.values() else None  # kinds without tasks are left out
        if (known := counts.get(chosen, none)) is not None:
            return known
    return None


def facet_arguments(query: TaskQuery) -> list[Argument]:
    """The arguments of the script `facets`, the same for each pool."""
    return [MOST, query.state, query.name, query.lane, query.kind, *_kinds()]


def _kinds() -> list[str]:
    """The kinds with a counter of their own; `task` is the rest. Kinds without tasks are left out of the answer."""
    return [record for kind in kinds.registered() for record in kind.records]


def read_facets(query: TaskQuery, replies: Mapping[str, Sequence[Any]]) -> Facets:
    """The facets from the replies of all pools."""
    found = {pool: _read(reply) for pool, reply in replies.items()}
    known = list(found)
    chosen = [pool for pool in known if pool == query.pool] if query.pool else known
    sums: dict[str, Counter[str]] = {facet: Counter() for facet in LISTED}
    for pool in chosen:
        for facet, values in found[pool].items():
            sums[facet].update(dict(values))
    sums["pool"] = Counter({pool: _size(found[pool], query.state) for pool in known})
    return {facet: _known(facet, query, _shown(facet, counts)) for facet, counts in sums.items()}


def _read(reply: Sequence[Any]) -> dict[str, list[tuple[str, int]]]:
    """The values of each facet, with their counts."""
    return {
        text(facet): [(text(value), int(count)) for value, count in zip(flat[::2], flat[1::2], strict=True)]
        for facet, flat in zip(reply[::2], reply[1::2], strict=True)
    }


def _shown(facet: str, counts: Counter[str]) -> list[tuple[str, int]]:
    if facet == "state":
        return [(str(state), counts.get(state, 0)) for state in table().states]
    return [(value, count) for value, count in counts.most_common(MOST) if count > 0 or facet in ALWAYS]


def _known(facet: str, query: TaskQuery, values: list[tuple[str, int]]) -> list[tuple[str, int | None]]:
    """Replace each number that would differ from the filtered list with None; zero stays zero."""
    others = query.params().keys() - {facet}
    exact = others <= COUNTED_WITHIN[facet] and len(others & ONE_OF) < 2
    return [(value, count if exact or not count else None) for value, count in values]


def _size(found: Mapping[str, list[tuple[str, int]]], state: str) -> int:
    return sum(count for value, count in found["state"] if fits(state, value))
