"""Overview history: all that the overview shows of the past, in one round trip to each server."""

from __future__ import annotations

from collections.abc import Iterable

from queueops.inspect.answers import Answer
from queueops.inspect.history_ranges import FIT, RANGES, Plan, read, store_ms
from queueops.inspect.series import Point, Series, SeriesQuestion, point_of
from queueops.inspect.shared_readings import SharedReadings
from queueops.inspect.store import open_reader
from queueops.inspect.trends import Things, Trends, things_of, trends_in, wanted_of
from queueops.model.history import MINUTE, POOL, together
from queueops.redis.history_reader import HistoryQuestion

DAY_MS = 86_400_000


class OverviewHistory(Answer, frozen=True, kw_only=True):
    """The past of all pools together, and the trends of what the overview lists."""

    series: Series  # over the range of the charts
    hour: Series
    yesterday: Point  # the same minute; not `known` without data
    trends: Trends


_READINGS: SharedReadings[OverviewHistory] = SharedReadings()


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
    things = things_of(pools, lanes, errors, ())
    return _READINGS.read((range, things), max_age_s, lambda: _read(range, things))


def _read(word: str, things: Things) -> OverviewHistory:
    reader, asked, hour = open_reader(), SeriesQuestion(word), SeriesQuestion("1h")
    names, now = reader.pools(), store_ms(reader)
    plan, minute = Plan(RANGES["1h"], now), MINUTE.slot(now - DAY_MS)
    questions = asked.questions(names, now, is_open=True)
    of_hour = [] if word in (FIT, "1h") else hour.questions(names, now, is_open=False)
    day_ago = HistoryQuestion([(MINUTE.word, minute)], dict.fromkeys(names, (POOL,)))
    *found, of_things, yesterday = read(reader, [*questions, *of_hour, plan.question(wanted_of(things)), day_ago])
    series = asked.answer(found, now)
    rows = [row for of_pool in yesterday.rows.values() for row in of_pool[POOL] if row is not None]
    return OverviewHistory(
        series=series,
        hour=series if series.range == "1h" else hour.answer(found[-1:], now),
        yesterday=point_of(minute * MINUTE.step_ms, together(rows) if rows else None),
        trends=trends_in(things, plan, of_things.rows),
    )
