"""Lists of lanes: aggregations, and destinations of callbacks, the last used first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from queueops.inspect import pagination
from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.store import open_reader, pools_of
from queueops.kinds.jobs.aggregations.circuit_rows import CLOSED, OPEN, Circuit, read_circuit
from queueops.kinds.jobs.aggregations.lane_names import (
    AGGREGATION,
    DESTINATION,
    lane_of_aggregation,
    lane_of_destination,
)
from queueops.kinds.jobs.http.net_guard import shown_url
from queueops.model.states import State
from queueops.redis.query_replies import maybe_real, maybe_whole, text, whole

MOST = 200
MOST_CALLS = 50
"""A page is empty only if so many calls, each of 20,000 lanes, found nothing that belongs on it."""


class JobLane(Answer, frozen=True, kw_only=True):
    """An aggregation, or a destination of callbacks: its limits, and its tasks by state."""

    pool: str
    lane: str
    id: str  # of the aggregation, or the host
    limit: int | None = None  # tasks at once; None: no limit
    rate: float | None = None  # starts a second; None: no limit
    weight: int = 1
    paused: bool = False
    circuits: tuple[Circuit, ...] = ()  # of a destination: those of its addresses that have failed
    draining: bool = False  # whether it takes no jobs
    proxy: str = ""  # of its downloads, without credentials
    used_ms: int = 0  # when it was last used
    oldest_ms: int | None = None  # when its oldest ready task became ready
    counts: dict[str, int] = {}  # tasks by state; states without any are left out

    @property
    def circuit(self) -> str:
        """The circuits of a destination: `open` if one is, else `half open` if one is, else `closed`."""
        return next((state for state in OPEN if any(each.state == state for each in self.circuits)), CLOSED)

    @property
    def shut_ms(self) -> int | None:
        """The first time at which a callback to an address with an open circuit is tried."""
        return min((each.shut_ms for each in self.circuits if each.shut_ms is not None), default=None)

    @property
    def failures(self) -> int:
        """Attempts that failed in a row: those of the address that has most of them."""
        return max((each.failures for each in self.circuits), default=0)

    @property
    def ready(self) -> int:
        """Tasks that wait for a slot."""
        return self.counts.get(State.PENDING, 0)

    @property
    def delayed(self) -> int:
        """Tasks that begin later: postponed, or between two attempts."""
        return self.counts.get(State.POSTPONED, 0) + self.counts.get(State.RESTART, 0)

    @property
    def in_flight(self) -> int:
        """Tasks that run, each in a slot."""
        return self.counts.get(State.LOCKED, 0)

    @property
    def failed(self) -> int:
        """Tasks that have failed and are still kept; of a destination: dead callbacks."""
        return self.counts.get(State.FAILED, 0)


class JobLanePage(Answer, frozen=True, kw_only=True):
    """One page of such lanes, the last used first; `next` continues it, empty at the end."""

    rows: tuple[JobLane, ...]
    next: str = ""
    broken: tuple[Broken, ...] = ()  # pools that could not be read in full


def aggregations(pool: str = "", after: str = "", limit: int = 50) -> JobLanePage:
    """The aggregations of a pool or of all, the last used first. Raises FilterError for a wrong `after`."""
    return _lanes(AGGREGATION, pool, after, limit)


def destinations(pool: str = "", after: str = "", limit: int = 50) -> JobLanePage:
    """The hosts to which callbacks go, the last used first. Raises FilterError for a wrong `after`."""
    return _lanes(DESTINATION, pool, after, limit)


def aggregation(id: str, pool: str = "default") -> JobLane | None:
    """One aggregation; None if no job was ever submitted there. Raises BadOption for an id that cannot be one."""
    return job_lane(lane_of_aggregation(id), pool)


def destination(host: str, pool: str = "default") -> JobLane | None:
    """The lane of the callbacks to a host; None if no callback went there."""
    return job_lane(lane_of_destination(host), pool)


def job_lane(lane: str, pool: str = "default") -> JobLane | None:
    """An aggregation or a destination by the name of its lane; None if it was never used."""
    if not lane.startswith((AGGREGATION, DESTINATION)):
        return None
    reader = open_reader()
    replies = reader.ask("job_lanes", dict.fromkeys(pools_of(reader, pool), ("", "", "", 1, lane)))
    rows = [_lane(pool, row) for _, found in replies.values() for row in found]
    return next((row for row in rows if row.used_ms or row.counts), None)


def _lanes(prefix: str, pool: str, after: str, limit: int) -> JobLanePage:
    reader, limit = open_reader(), max(1, min(limit, MOST))
    pools = pools_of(reader, pool)
    places = pagination.read(after, pools, [prefix]) if after else dict.fromkeys(pools, (prefix, "", ""))
    taken: list[tuple[str, JobLane]] = []
    for _ in range(MOST_CALLS):
        asked = {name: (prefix, time, lane, limit, "") for name, (_, time, lane) in places.items()}
        walks = {name: _walk(places[name], name, *reply) for name, reply in reader.ask("job_lanes", asked).items()}
        taken, places = pagination.merge(walks, limit, lambda _, row: -row.used_ms)
        if taken or not places:
            break
    return JobLanePage(
        rows=tuple(row for _, row in taken),
        next=pagination.write(places),
        broken=broken_pools(reader.broken, reader.silent),
    )


def _walk(start: pagination.Place, pool: str, place: Sequence[bytes], found: Iterable[Any]) -> pagination.Walk[JobLane]:
    rows = [((start[0], text(row[1]), text(row[0])), _lane(pool, row)) for row in found]
    return pagination.Walk(start=start, rows=rows, next=(start[0], text(place[0]), text(place[1])) if place else None)


def _lane(pool: str, row: Sequence[Any]) -> JobLane:
    lane, used, _ready, settings, oldest, circuits, *counts = row
    given = ("" if value is None else text(value) for value in settings)
    id, limit, rate, weight, paused, drain, proxy = given
    name = text(lane)
    return JobLane(
        pool=pool,
        lane=name,
        id=id or name.partition(":")[2],
        limit=maybe_whole(limit),
        rate=maybe_real(rate),
        weight=maybe_whole(weight) or 1,
        paused=paused == "1",
        circuits=tuple(map(read_circuit, circuits)),
        draining=drain == "1",
        proxy=shown_url(proxy) if proxy else "",
        used_ms=whole(text(used)),
        oldest_ms=maybe_whole(text(oldest)),
        counts=_counts(counts),
    )


def _counts(flat: Sequence[bytes]) -> dict[str, int]:
    pairs = zip(flat[::2], flat[1::2], strict=True)
    return {text(state): number for state, count in pairs if (number := whole(text(count))) > 0}
