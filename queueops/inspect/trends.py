"""Trends: the counts of many series over one range, for the small charts of lists.

All series of one call are read in one round trip to each server.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from queueops.inspect.answers import Answer
from queueops.inspect.history_ranges import MOST_SERIES, Found, Plan, range_of, read, store_ms
from queueops.inspect.shared_readings import SharedReadings
from queueops.inspect.store import open_reader
from queueops.model.history import POOL

Keys = tuple[tuple[str, str], ...]
"""Pairs of a pool and what it has: a lane, the fingerprint of an error, a worker."""


class Trend(Answer, frozen=True, kw_only=True):
    """The counts of a series alone, for many series at once; each has a number for each step, the oldest first."""

    step_ms: int
    until_ms: int
    ended: tuple[int, ...]
    failed: tuple[int, ...]
    waiting: tuple[int | None, ...]


def lane_trends(
    lanes: Iterable[tuple[str, str]], range: str = "1h", *, now_ms: int = 0, max_age_s: float = 0.0
) -> dict[tuple[str, str], Trend]:
    """The trend of each of these lanes (pool, lane); at most 200 of a pool. Raises FilterError.

    The answer may be one that this process read up to ``max_age_s`` seconds ago.
    """
    return _of_pools("l", lanes, range, now_ms, max_age_s)


def error_trends(
    errors: Iterable[tuple[str, str]], range: str = "1h", *, now_ms: int = 0, max_age_s: float = 0.0
) -> dict[tuple[str, str], Trend]:
    """The trend of each of these error groups (pool, fingerprint); as `lane_trends`. It has failures alone."""
    return _of_pools("e", errors, range, now_ms, max_age_s)


def worker_trends(
    workers: Iterable[tuple[str, str]], range: str = "1h", *, now_ms: int = 0, max_age_s: float = 0.0
) -> dict[tuple[str, str], Trend]:
    """The trend of each of these workers (first pool that it serves, worker); as `lane_trends`."""
    return _of_pools("w", workers, range, now_ms, max_age_s)


def pool_trends(
    pools: Iterable[str], range: str = "1h", *, now_ms: int = 0, max_age_s: float = 0.0
) -> dict[str, Trend]:
    """The trend of each of these pools; as `lane_trends`."""
    found = _of_pools("", ((pool, POOL) for pool in pools), range, now_ms, max_age_s)
    return {pool: trend for (pool, _), trend in found.items()}


def name_trends(
    names: Iterable[str], range: str = "1h", *, now_ms: int = 0, max_age_s: float = 0.0
) -> dict[str, Trend]:
    """The trend of each of these names, in all pools together; at most 200. Raises FilterError.

    The answer may be one that this process read up to ``max_age_s`` seconds ago.
    """
    question = (tuple(dict.fromkeys(names))[:MOST_SERIES], range, now_ms)
    return _NAMES.read(question, max_age_s, lambda: _name_trends(*question))


def _of_pools(
    sign: str, things: Iterable[tuple[str, str]], range: str, now_ms: int, max_age_s: float
) -> dict[tuple[str, str], Trend]:
    question = (sign, tuple(dict.fromkeys(things)), range, now_ms)
    return _TRENDS.read(question, max_age_s, lambda: _trends(*question))


def _trends(sign: str, things: Keys, range: str, now_ms: int) -> dict[tuple[str, str], Trend]:
    reader, chosen = open_reader(), range_of(range)
    if not things:
        return {}
    plan = Plan(chosen, now_ms or store_ms(reader))
    (reading,) = read(reader, [plan.question(wanted_of({sign: things}))])
    return trends_of(sign, things, plan, reading.rows)


def _name_trends(wanted: Sequence[str], range: str, now_ms: int) -> dict[str, Trend]:
    reader, chosen = open_reader(), range_of(range)
    if not wanted:
        return {}
    plan = Plan(chosen, now_ms or store_ms(reader))
    (reading,) = read(reader, [plan.question(dict.fromkeys(reader.pools(), tuple(f"n|{name}" for name in wanted)))])
    return {name: trend_of(plan, [(pool, f"n|{name}") for pool in reading.rows], reading.rows) for name in wanted}


_TRENDS: SharedReadings[dict[tuple[str, str], Trend]] = SharedReadings()
_NAMES: SharedReadings[dict[str, Trend]] = SharedReadings()


def wanted_of(things: Mapping[str, Keys]) -> dict[str, list[str]]:
    """The series to read, by pool, of these things by the sign that begins their series."""
    found: dict[str, list[str]] = {}
    for sign, pairs in things.items():
        for pool, thing in pairs:
            found.setdefault(pool, []).append(_series(sign, thing))
    return found


def trends_of(sign: str, things: Keys, plan: Plan, found: Found) -> dict[tuple[str, str], Trend]:
    """The trends of these things; without those of a pool that does not answer."""
    keys = [(pool, thing, _series(sign, thing)) for pool, thing in things]
    return {
        (pool, thing): trend_of(plan, [(pool, key)], found) for pool, thing, key in keys if key in found.get(pool, ())
    }


def trend_of(plan: Plan, of: Iterable[tuple[str, str]], found: Found) -> Trend:
    """The counts of these series (pool, series) together."""
    rows = plan.joined(of, found)
    return Trend(
        step_ms=plan.range.step_ms,
        until_ms=plan.start(len(rows)),
        ended=tuple(row.ended if row else 0 for row in rows),
        failed=tuple(row.failed if row else 0 for row in rows),
        waiting=tuple(row.waiting if row and row.waiting >= 0 else None for row in rows),
    )


def _series(sign: str, thing: str) -> str:
    return f"{sign}|{thing}" if sign else thing
