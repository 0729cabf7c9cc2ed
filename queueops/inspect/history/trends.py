"""Trends: the counts of many series over one range, for the small charts of lists and for the overview.

All series of one call are read in one round trip to each server.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from queueops.errors import BrokerUnavailable
from queueops.inspect.answers import Answer
from queueops.inspect.history.ranges import FIT, MOST_SERIES, RANGES, Found, Plan, range_of, read, store_ms
from queueops.inspect.history.series import Point, Series, SeriesQuestion, point_of
from queueops.inspect.shared_readings import SharedReadings
from queueops.inspect.store import open_reader
from queueops.model.history import MINUTE, POOL, together
from queueops.redis.history_reader import HistoryQuestion

DAY_MS = 86_400_000

Pairs = tuple[tuple[str, str], ...]
"""A pool, and what it has."""
SIGNS = ("", "l|", "e|", "w|")
"""What begins the series of each sort of things."""


class Things(NamedTuple):
    """What trends are asked of."""

    pools: Pairs
    """Each with the series of the whole pool."""
    lanes: Pairs
    errors: Pairs
    workers: Pairs


class Trend(Answer, frozen=True, kw_only=True):
    """The counts of a series alone, for many series at once; each has a number for each step, the oldest first."""

    step_ms: int
    until_ms: int
    ended: tuple[int, ...]
    failed: tuple[int, ...]
    waiting: tuple[int | None, ...]


class Trends(Answer, frozen=True, kw_only=True):
    """The trends of several sorts, of one reading."""

    pools: dict[str, Trend] = {}
    lanes: dict[tuple[str, str], Trend] = {}  # by pool and lane
    errors: dict[tuple[str, str], Trend] = {}  # by pool and fingerprint
    workers: dict[tuple[str, str], Trend] = {}  # by first pool and worker

    @property
    def all(self) -> tuple[Trend, ...]:
        """All of them, in order."""
        sorts: tuple[Mapping[Any, Trend], ...] = (self.pools, self.lanes, self.errors, self.workers)
        return tuple(trend for each in sorts for trend in each.values())


class OverviewHistory(Answer, frozen=True, kw_only=True):
    """The past of all pools together, and the trends of what the overview lists."""

    series: Series  # over the range of the charts
    hour: Series
    yesterday: Point  # the same minute; not `known` without data
    trends: Trends


def trends(
    range: str = "1h",
    *,
    pools: Iterable[str] = (),
    lanes: Iterable[tuple[str, str]] = (),
    errors: Iterable[tuple[str, str]] = (),
    workers: Iterable[tuple[str, str]] = (),
    now_ms: int = 0,
    max_age_s: float = 0.0,
) -> Trends:
    """The trends of pools, lanes (pool, lane), error groups (pool, fingerprint) and workers (first pool, worker).

    At most 200 series of a pool. An error group has failures alone. The answer may be one that this process read up to
    ``max_age_s`` seconds ago. It costs one round trip. Things of a pool that does not answer have no trend.
    Raises FilterError.
    """
    things = _things_of(pools, lanes, errors, workers)
    return _TRENDS.read((range, things, now_ms), max_age_s, lambda: _trends(range, things, now_ms))


def lane_trends(
    lanes: Iterable[tuple[str, str]], range: str = "1h", *, now_ms: int = 0, max_age_s: float = 0.0
) -> dict[tuple[str, str], Trend]:
    """The trend of each of these lanes (pool, lane); at most 200 of a pool. As `trends`."""
    return trends(range, lanes=lanes, now_ms=now_ms, max_age_s=max_age_s).lanes


def name_trends(
    names: Iterable[str], range: str = "1h", *, now_ms: int = 0, max_age_s: float = 0.0
) -> dict[str, Trend]:
    """The trend of each of these names, in all pools together; at most 200. Raises FilterError.

    The answer may be one that this process read up to ``max_age_s`` seconds ago.
    """
    question = (tuple(dict.fromkeys(names))[:MOST_SERIES], range, now_ms)
    return _NAMES.read(question, max_age_s, lambda: _name_trends(*question))


def overview_history(
    range: str = "fit",
    *,
    lanes: Iterable[tuple[str, str]] = (),
    errors: Iterable[tuple[str, str]] = (),
    pools: Iterable[str] = (),
    max_age_s: float = 0.0,
) -> OverviewHistory:
    """The history of all pools over a range and over the last hour, and an hour's trends of lanes, errors and pools.

    ``range`` is as in `series`, the things are as in `trends`. The answer may be one that this process read up to
    ``max_age_s`` seconds ago. Raises FilterError.
    """
    things = _things_of(pools, lanes, errors, ())
    return _OVERVIEWS.read((range, things), max_age_s, lambda: _overview(range, things))


def _trends(word: str, things: Things, now_ms: int) -> Trends:
    reader, plan = open_reader(), range_of(word)
    if not any(things):
        return Trends()
    made = Plan(plan, now_ms or store_ms(reader))
    try:
        (reading,) = read(reader, [made.question(_wanted_of(things))])
    except BrokerUnavailable:
        if not reader.broker.servers.is_cluster:
            raise
        return Trends()  # no pool of these things answers: the rows are shown without charts
    return _trends_in(things, made, reading.rows)


def _name_trends(wanted: Sequence[str], range: str, now_ms: int) -> dict[str, Trend]:
    reader, chosen = open_reader(), range_of(range)
    if not wanted:
        return {}
    plan = Plan(chosen, now_ms or store_ms(reader))
    (reading,) = read(reader, [plan.question(dict.fromkeys(reader.pools(), tuple(f"n|{name}" for name in wanted)))])
    return {name: _trend_of(plan, [(pool, f"n|{name}") for pool in reading.rows], reading.rows) for name in wanted}


def _overview(word: str, things: Things) -> OverviewHistory:
    reader, asked, hour = open_reader(), SeriesQuestion(word), SeriesQuestion("1h")
    names, now = reader.pools(), store_ms(reader)
    plan, minute = Plan(RANGES["1h"], now), MINUTE.slot(now - DAY_MS)
    questions = asked.questions(names, now, is_open=True)
    of_hour = [] if word in (FIT, "1h") else hour.questions(names, now, is_open=False)
    day_ago = HistoryQuestion([(MINUTE.word, minute)], dict.fromkeys(names, (POOL,)))
    *found, of_things, yesterday = read(reader, [*questions, *of_hour, plan.question(_wanted_of(things)), day_ago])
    series = asked.answer(found, now)
    rows = [row for of_pool in yesterday.rows.values() for row in of_pool[POOL] if row is not None]
    return OverviewHistory(
        series=series,
        hour=series if series.range == "1h" else hour.answer(found[-1:], now),
        yesterday=point_of(minute * MINUTE.step_ms, together(rows) if rows else None),
        trends=_trends_in(things, plan, of_things.rows),
    )


_TRENDS: SharedReadings[Trends] = SharedReadings()
_NAMES: SharedReadings[dict[str, Trend]] = SharedReadings()
_OVERVIEWS: SharedReadings[OverviewHistory] = SharedReadings()


def _things_of(
    pools: Iterable[str],
    lanes: Iterable[tuple[str, str]],
    errors: Iterable[tuple[str, str]],
    workers: Iterable[tuple[str, str]],
) -> Things:
    """What trends are asked of: each thing once."""
    once = (tuple(dict.fromkeys(each)) for each in (((pool, POOL) for pool in pools), lanes, errors, workers))
    return Things(*once)


def _wanted_of(things: Things) -> dict[str, list[str]]:
    """The series to read, by pool."""
    found: dict[str, list[str]] = {}
    for sign, pairs in zip(SIGNS, things, strict=True):
        for pool, thing in pairs:
            found.setdefault(pool, []).append(sign + thing)
    return found


def _trends_in(things: Things, plan: Plan, found: Found) -> Trends:
    """The trends of these things; without those of a pool that does not answer."""
    of_pools, lanes, errors, workers = (
        {
            (pool, thing): _trend_of(plan, [(pool, sign + thing)], found)
            for pool, thing in pairs
            if sign + thing in found.get(pool, ())
        }
        for sign, pairs in zip(SIGNS, things, strict=True)
    )
    pools = {pool: trend for (pool, _), trend in of_pools.items()}
    return Trends(pools=pools, lanes=lanes, errors=errors, workers=workers)


def _trend_of(plan: Plan, of: Iterable[tuple[str, str]], found: Found) -> Trend:
    """The counts of these series (pool, series) together."""
    rows = plan.joined(of, found)
    return Trend(
        step_ms=plan.range.step_ms,
        until_ms=plan.start(len(rows)),
        ended=tuple([row.ended if row else 0 for row in rows]),
        failed=tuple([row.failed if row else 0 for row in rows]),
        waiting=tuple([row.waiting if row and row.waiting >= 0 else None for row in rows]),
    )
