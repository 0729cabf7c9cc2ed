"""Chain of runs: the runs of one instance, from the newest to the earliest, page by page.

Each run names the one before it. Where one of them was deleted, the list of all runs is read from there on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from queueops.inspect import pagination
from queueops.inspect.pagination import Place, Places
from queueops.inspect.store import open_reader, pools_of
from queueops.kinds.workflows.inspect.run_filter import KIND_INDEX, RunFilter
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.kinds.workflows.store.run_store import RunFields
from queueops.redis.broker import get_role
from queueops.redis.query_replies import may_be_id

CHAIN = "chain"
"""Stands in a position for the index of a list: its run is the next one of the chain."""


class ChainRun(NamedTuple):
    """A run of a chain as it is stored."""

    pool: str
    id: str
    fields: RunFields


class ChainPage(NamedTuple):
    """Runs of an instance, and where to go on: in the chain, or in the list of all runs."""

    runs: Sequence[ChainRun]
    next: str = ""
    is_walk: bool = False


def runs_from(pool: str, run: str) -> Iterator[ChainRun]:
    """A run, and those before it."""
    store = get_role(WorkflowCalls)
    while run:
        fields = store.run_fields([(pool, run)])[pool, run]
        if not fields.known:
            return
        yield ChainRun(pool, run, fields)
        run = fields.known.get("vp", "")


def chain_page(wanted: RunFilter, after: str, limit: int) -> ChainPage:
    """One page of the runs of an instance. Raises FilterError for a position that is not one of this list."""
    places = _places(wanted, after)
    found: list[ChainRun] = []
    following: Places = {}
    for pool, place in places.items():
        begun = len(found)
        if place[0] != CHAIN:
            following[pool] = place
            continue
        for run in runs_from(pool, place[2]):
            if len(found) == limit:
                following[pool] = (CHAIN, "", run.id)
                break
            found.append(run)
        else:
            following |= _behind(found[begun:])
    return ChainPage(found, pagination.write(following), all(place[0] != CHAIN for place in following.values()))


def _places(wanted: RunFilter, after: str) -> Places:
    pools = pools_of(open_reader(), wanted.pool)
    if after:
        return pagination.read(after, pools, (CHAIN, KIND_INDEX))
    store = get_role(WorkflowCalls)
    newest = {pool: store.newest_run(pool, wanted.instance) for pool in pools if may_be_id(wanted.instance)}
    return {pool: (CHAIN, "", run) if run else (KIND_INDEX, "", "") for pool, run in newest.items()}


def _behind(runs: Sequence[ChainRun]) -> dict[str, Place]:
    """Where the list of all runs goes on behind the last of these, if the run before it was deleted."""
    if not runs or "vp" not in runs[-1].fields.known:
        return {}
    last = runs[-1]
    return {last.pool: (KIND_INDEX, last.fields.known.get("u", ""), last.id)}
