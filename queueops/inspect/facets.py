"""The values that a list can be filtered by, with counts."""

from __future__ import annotations

from collections import Counter

from queueops.inspect.query import TaskQuery
from queueops.inspect.source import open_reader
from queueops.states import State

MOST = 50
LISTED = ("state", "kind", "name", "lane", "tag", "error")
KINDS = ("chain", "group", "iterator", "mapreduce", "chunk", "job", "callback", "workflow", "activity")
"""The kinds with a counter of their own; `task` is the rest. Those without a task are left out of the answer."""

Facets = dict[str, list[tuple[str, int]]]


def facets(query: TaskQuery) -> Facets:
    """For each facet its values and how many tasks each has.

    States are counted among the tasks of the chosen name, names and kinds among those of the chosen state, tags and
    errors among all. Counts by name, kind and lane come from counters that the consistency checker can rebuild.
    """
    reader = open_reader()
    known = reader.pools()
    found = reader.facets(known, (MOST, query.state, query.name, *KINDS))
    chosen = [pool for pool in known if pool == query.pool] if query.pool else known
    sums: dict[str, Counter[str]] = {facet: Counter() for facet in LISTED}
    for pool in chosen:
        for facet, values in found[pool].items():
            sums[facet].update(dict(values))
    sums["kind"]["task"] = sum(_size(found[pool], query.state) for pool in chosen) - sums["kind"].total()
    answer = {facet: _shown(facet, counts) for facet, counts in sums.items()}
    return answer | {"pool": [(pool, _size(found[pool], query.state)) for pool in known]}


def _shown(facet: str, counts: Counter[str]) -> list[tuple[str, int]]:
    if facet == "state":
        return [(str(state), counts.get(state, 0)) for state in State]
    return [(value, count) for value, count in counts.most_common(MOST) if count > 0 or facet == "name"]


def _size(found: Facets, state: str) -> int:
    return sum(count for value, count in found["state"] if not state or value == state)
