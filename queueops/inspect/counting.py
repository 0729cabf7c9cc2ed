"""Counts of the tasks that match filters, all in one round trip: exact ones of indexes and counters, others bounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from queueops.errors import FilterError
from queueops.inspect import pagination
from queueops.inspect.answers import Answer
from queueops.inspect.facets import ONE_OF, facet_arguments
from queueops.inspect.query import TaskQuery
from queueops.inspect.redaction import concealing, conceals
from queueops.inspect.shared_readings import SharedReadings
from queueops.inspect.store import open_reader
from queueops.inspect.tasks import page_arguments
from queueops.model.states import State
from queueops.redis.query_replies import text, whole
from queueops.redis.reader import Argument

CANDIDATES = 1000
"""Candidates that one reading may look at, of all filters and pools together."""
MOST, LEAST = 500, 20
"""Candidates of one filter in one pool: the newest of its smallest index."""


class Count(Answer, frozen=True, kw_only=True):
    """The number of matching tasks. If it is not `exact`, it is the number among the `seen` newest of `size`."""

    number: int
    exact: bool
    seen: int = 0
    size: int = 0


def counts(queries: Sequence[TaskQuery], max_age_s: float = 0.0) -> tuple[Count | None, ...]:
    """The count of each of these filters; None for one by an id or by a text in arguments, and for a wrong one.

    The answer may be one that this process read up to `max_age_s` seconds ago. Raises BrokerUnavailable.
    """
    asked = tuple(queries)
    return _READINGS.read(asked, max_age_s, lambda: _counts(asked))


class _Question(NamedTuple):
    """A filter that can be counted, and its pools. With `by_types` the store does not compare messages of errors."""

    query: TaskQuery
    pools: Sequence[str]
    by_types: bool

    @property
    def has_counter(self) -> bool:
        """Whether counters know the tasks of each state that match."""
        chosen = self.query.params().keys() - {"pool", "state"}
        return len(chosen) == 1 and chosen <= ONE_OF

    def arguments(self, budget: int) -> dict[str, list[Argument]]:
        """The arguments of the function `count` for each pool."""
        if self.has_counter:
            return {pool: ["counters", *facet_arguments(self.query)] for pool in self.pools}
        with concealing():
            found = page_arguments(self.query, dict.fromkeys(self.pools, pagination.BEGIN), 1, budget)
        return {pool: ["index", *each] for pool, each in found.items()}


def _counts(queries: Sequence[TaskQuery]) -> tuple[Count | None, ...]:
    reader = open_reader()
    known = reader.pools()
    asked = [_question(query, known) for query in queries]
    walks = sum(len(each.pools) for each in asked if each and not each.has_counter)
    budget = max(LEAST, min(MOST, CANDIDATES // max(1, walks)))
    calls: dict[str, dict[int, list[Argument]]] = {}
    for place, each in enumerate(asked):
        for pool, arguments in each.arguments(budget).items() if each else ():
            calls.setdefault(pool, {})[place] = arguments
    replies = reader.ask_each("count", {pool: list(each.values()) for pool, each in calls.items()})
    found = {pool: dict(zip(calls[pool], each, strict=True)) for pool, each in replies.items()}
    is_whole = not (reader.silent or reader.broken)
    return tuple(each and _joined(place, found, is_whole and not each.by_types) for place, each in enumerate(asked))


_READINGS: SharedReadings[tuple[Count | None, ...]] = SharedReadings()


def _question(query: TaskQuery, known: Sequence[str]) -> _Question | None:
    try:
        found = query.checked()
    except FilterError:
        return None
    if found.id or found.contains:
        return None
    # The index of an error has failed tasks alone.
    if found.error and found == TaskQuery(error=found.error, state=str(State.FAILED), pool=found.pool):
        found = replace(found, state="")
    pools = [pool for pool in known if found.pool in ("", pool)]
    # The store has messages with their secrets: a count must not tell what a list of the same filter hides.
    by_types = not conceals() and any(
        found.condition(pool, types_only=True) != found.condition(pool, types_only=False) for pool in pools
    )
    return _Question(found, pools, by_types)


def _joined(place: int, found: Mapping[str, Mapping[int, Sequence[Any]]], is_whole: bool) -> Count:
    """The count of all pools."""
    each = [replies[place] for replies in found.values() if place in replies]
    return Count(
        number=sum(whole(reply[0]) for reply in each),
        exact=is_whole and all(text(reply[2]) == "1" for reply in each),
        seen=sum(whole(reply[3]) for reply in each),
        size=sum(whole(reply[1]) for reply in each),
    )
