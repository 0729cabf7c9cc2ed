"""Figures over time: `inspect.series`, the trends of many lanes and names, and `manage.py queue history`."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from queueops import inspect
from queueops.errors import FilterError
from queueops.inspect import RANGES
from queueops.model.histogram import bucket
from queueops.model.history import HOUR, LEVELS, MINUTE, TEN_MINUTES, Row
from tests.kernel.desk import POOL, Desk
from tests.support.monitoring import counted_trips
from tests.support.seed_history import rows_at, seed

NOW = 1_790_000_000_000 // HOUR.step_ms * HOUR.step_ms + 25 * MINUTE.step_ms + 30_000
"""25 minutes and a half into an hour."""


def keep(desk: Desk, slot: int, rows: dict[str, Row], level: object = MINUTE, pool: str = POOL) -> None:
    """Store one step."""
    (chosen,) = [each for each in LEVELS if each is level]
    desk.broker.announce(pool)
    desk.broker.keep_history(pool, chosen, {slot: rows}, slot)


def queue(*words: str) -> str:
    out = StringIO()
    call_command("queue", "history", *words, stdout=out)
    return out.getvalue()


def test_a_step_has_the_figures_that_were_kept_and_one_without_data_says_so(desk: Desk) -> None:
    row = Row(
        came=9, ended=7, failed=3, retried=1, waiting=4, running=2, oldest_ms=800, runs=(bucket(10), 5, bucket(90), 5)
    )
    keep(desk, MINUTE.slot(NOW) - 2, {"p": row})
    found = inspect.series("1h", now_ms=NOW)
    point = found.points[-2]
    assert len(found.points) == 60
    assert point.at_ms == (MINUTE.slot(NOW) - 2) * MINUTE.step_ms
    assert (point.came, point.ended, point.failed, point.retried) == (9, 7, 3, 1)
    assert (point.waiting, point.running, point.oldest_ms) == (4, 2, 800)
    assert point.failure_rate == 3 / 8
    assert 5 < (point.run_p50_ms or 0) < 12 < 60 < (point.run_p95_ms or 0) <= (point.run_p99_ms or 0) < 130
    assert point.wait_p50_ms is None
    assert [each.known for each in found.points] == [False] * 58 + [True, False]
    assert (found.total.came, found.total.ended) == (9, 7)


def test_an_open_step_is_computed_from_the_finer_ones_in_it(desk: Desk) -> None:
    hour = HOUR.slot(NOW)
    keep(desk, hour - 1, {"p": Row(came=100)}, HOUR)
    for part in (0, 1):
        keep(desk, hour * 6 + part, {"p": Row(came=10)}, TEN_MINUTES)
    for minute in range(20, 25):
        keep(desk, hour * 60 + minute, {"p": Row(came=1)})
    keep(desk, hour * 60 + 25, {"p": Row(came=1000)})  # it is open itself
    assert [point.came for point in inspect.series("14d", now_ms=NOW).points[-2:]] == [100, 25]
    assert [point.came for point in inspect.series("24h", now_ms=NOW).points[-3:]] == [10, 10, 5]
    assert inspect.series("13mo", now_ms=NOW).total.came == 125


@pytest.mark.parametrize(("range", "minutes"), [("1h", 1), ("24h", 5), ("14d", 25), ("13mo", 25)])
def test_a_steady_rate_is_the_same_in_a_step_that_is_still_open(desk: Desk, range: str, minutes: int) -> None:
    """The open step is as long as its rows: a minute that has just closed is not rolled up yet."""
    hour, per_minute = HOUR.slot(NOW), Row(came=60)
    for part in (0, 1):
        keep(desk, hour * 6 + part, {"p": Row(came=600)}, TEN_MINUTES)
    for minute in (19, 20, 21, 22, 23, 24):
        keep(desk, hour * 60 + minute, {"p": per_minute})
    for now in (NOW, NOW + MINUTE.step_ms):
        found = inspect.series(range, now_ms=now if range != "1h" else NOW)
        last = found.points[-1]
        assert last.came == 60 * minutes
        day_ms = (hour % 24) * HOUR.step_ms if range == "13mo" else 0
        assert last.came / (found.seconds_of(last) - day_ms / 1000) == pytest.approx(1.0)
        assert all(found.seconds_of(point) == found.step_ms / 1000 for point in found.points[:-1])


def test_pools_are_added_and_lanes_names_and_states_are_apart(desk: Desk) -> None:
    slot = MINUTE.slot(NOW) - 1
    keep(desk, slot, {"p": Row(came=1, waiting=2), "l|a": Row(came=3), "n|x": Row(came=4), "s|failed": Row(came=5)})
    keep(desk, slot, {"p": Row(came=10, waiting=20), "n|x": Row(came=40)}, pool="other")
    assert inspect.series(now_ms=NOW).total.came == 11
    assert inspect.series(now_ms=NOW).total.waiting == 22
    assert inspect.series(pool="other", now_ms=NOW).total.came == 10
    assert inspect.series(lane="a", now_ms=NOW).total.came == 3
    assert inspect.series(name="x", now_ms=NOW).total.came == 44
    assert inspect.series(state="failed", now_ms=NOW).total.came == 5
    assert not any(point.known for point in inspect.series(pool="nowhere", now_ms=NOW).points)
    trends = inspect.lane_trends([(POOL, "a"), ("other", "a")], now_ms=NOW)
    assert [trend.waiting[-1] for trend in trends.values()] == [None, None]
    assert trends[POOL, "a"].until_ms == (slot + 1) * MINUTE.step_ms
    assert len(trends[POOL, "a"].ended) == 60
    assert inspect.name_trends(["x", "y"], now_ms=NOW).keys() == {"x", "y"}
    assert inspect.name_trends([]) == inspect.lane_trends([]) == {}


def test_errors_and_workers_have_series_and_trends_of_their_own(desk: Desk) -> None:
    slot = MINUTE.slot(NOW) - 1
    worker = Row(ended=9, failed=2, run_ms=30_000, able_ms=240_000, running=3, memory=5000)
    keep(desk, slot, {"e|f1": Row(failed=3), "w|w1": worker})
    keep(desk, slot, {"e|f1": Row(failed=4)}, pool="other")
    assert inspect.series(error="f1", now_ms=NOW).total.failed == 7
    assert inspect.series(error="f1", pool="other", now_ms=NOW).total.failed == 4
    point = inspect.series(worker="w1", now_ms=NOW).points[-1]
    assert (point.ended, point.failed, point.running, point.busy_share, point.memory) == (9, 2, 3, 0.125, 5000)
    assert inspect.series(worker="w2", now_ms=NOW).total.busy_share is None
    wanted = [(POOL, "f1"), ("other", "f1"), ("gone", "f1")]
    found = inspect.trends(errors=wanted, workers=[(POOL, "w1")], pools=[POOL], now_ms=NOW)
    assert {pool: trend.failed[-1] for (pool, _), trend in found.errors.items()} == {POOL: 3, "other": 4, "gone": 0}
    assert found.workers[POOL, "w1"].ended[-1] == 9
    assert found.pools.keys() == {POOL}
    assert len(found.all) == 5


def test_an_error_that_did_not_occur_is_zero_where_the_pool_is_known(desk: Desk) -> None:
    slot = MINUTE.slot(NOW)
    keep(desk, slot - 3, {"p": Row(came=1), "e|f1": Row(failed=2)})
    keep(desk, slot - 2, {"p": Row(came=1)})
    keep(desk, slot - 1, {"p": Row(came=1), "e": Row(failed=9)})  # it may be among the others
    last = inspect.series(error="f1", now_ms=NOW).points[-4:]
    assert [(point.known, point.failed) for point in last] == [(False, 0), (True, 2), (True, 0), (False, 0)]


def test_a_fitting_range_is_an_hour_until_more_is_known(desk: Desk) -> None:
    assert inspect.series("fit", now_ms=NOW).range == "1h"
    keep(desk, MINUTE.slot(NOW) - 20, {"p": Row(came=1), "l|a": Row(came=1)})
    found = inspect.series("fit", now_ms=NOW)
    assert (found.range, found.total.came) == ("1h", 1)
    keep(desk, TEN_MINUTES.slot(NOW) - 30, {"p": Row(came=2)}, TEN_MINUTES)
    assert inspect.series("fit", now_ms=NOW).range == "24h"
    assert inspect.series("fit", lane="a", now_ms=NOW).range == "1h"


def test_a_range_says_since_when_the_pools_have_a_history(desk: Desk) -> None:
    assert inspect.series("1h", now_ms=NOW).begins_ms is None
    first = MINUTE.slot(NOW) - 20
    keep(desk, first + 2, {"p": Row(came=1)}, pool="mail")
    keep(desk, first, {"p": Row(came=1), "n|other": Row(came=1)})
    keep(desk, first + 15, {"p": Row(came=1), "l|a": Row(came=1), "e|f1": Row(failed=1)})
    for of in ({}, {"lane": "a"}, {"name": "none"}, {"error": "f1"}):
        assert inspect.series("1h", now_ms=NOW, **of).begins_ms == first * MINUTE.step_ms
    assert inspect.series("1h", pool="mail", now_ms=NOW).begins_ms == (first + 2) * MINUTE.step_ms
    keep(desk, TEN_MINUTES.slot(NOW) - 30, {"p": Row(came=2)}, TEN_MINUTES)
    assert inspect.series("24h", lane="a", now_ms=NOW).begins_ms == (TEN_MINUTES.slot(NOW) - 30) * TEN_MINUTES.step_ms


def test_a_range_between_two_times_has_the_finest_steps_that_are_kept(desk: Desk) -> None:
    now = desk.now()
    hour = HOUR.step_ms
    for ago, level in ((2, MINUTE), (80, TEN_MINUTES), (30 * 24, HOUR)):
        slot = level.slot(now - ago * hour)
        keep(desk, slot, {"p": Row(came=7)}, level)
        begin = slot * level.step_ms
        found = inspect.series(since_ms=begin - hour, now_ms=begin + hour)
        assert (found.range, found.step_ms, found.total.came) == ("zoom", level.step_ms, 7)
        assert found.points[0].at_ms <= begin - hour
        assert found.until_ms >= begin + hour
        assert len(found.points) <= 400
    wide = inspect.series(since_ms=now - 390 * 24 * hour, now_ms=now - 24 * hour)
    assert len(wide.points) <= 400
    assert wide.total.came == 7  # that of the hour: finer steps are not read
    with pytest.raises(FilterError, match="ends before it begins"):
        inspect.series(since_ms=now, now_ms=now - 1)


def test_a_range_that_reaches_into_an_open_step_has_what_is_known_of_it(desk: Desk) -> None:
    now = desk.now()
    ended = now - MINUTE.step_ms
    keep(desk, MINUTE.slot(ended), {"p": Row(came=7)})
    if TEN_MINUTES.slot(ended) < TEN_MINUTES.slot(now):  # the watchdog has rolled it up
        keep(desk, TEN_MINUTES.slot(ended), {"p": Row(came=7)}, TEN_MINUTES)
    assert inspect.series(since_ms=now - 30 * HOUR.step_ms, now_ms=now).total.came == 7


def test_many_questions_are_one_round_trip(desk: Desk) -> None:
    keep(desk, MINUTE.slot(NOW) - 1, {"p": Row(came=1)})
    inspect.series(now_ms=NOW)
    for word in ("fit", "13mo"):
        with counted_trips() as trips:
            inspect.series(word, pool=POOL, now_ms=NOW)
        assert trips.made == 2  # the list of pools, and the rows


def test_a_range_is_read_by_bounded_commands(desk: Desk) -> None:
    for words in ("1h", "24h", "14d", "13mo"):
        before = desk.client.info("commandstats")
        inspect.series(words, now_ms=NOW)
        after = desk.client.info("commandstats")
        made = {name: row["calls"] - before.get(name, {"calls": 0})["calls"] for name, row in after.items()}
        assert made["cmdstat_hmget"] <= RANGES[words].points * RANGES[words].steps + 20
        assert not {name for name, calls in made.items() if calls} & {"cmdstat_keys", "cmdstat_scan", "cmdstat_hgetall"}


def test_seeded_history_is_read_as_it_was_written(desk: Desk) -> None:
    desk.broker.announce(POOL)
    counts = seed(desk.broker, POOL, NOW, names=2, lanes=1, days=1)
    assert counts == {"1m": 1439, "10m": 143, "1h": 23}
    slot = TEN_MINUTES.slot(NOW) - 3
    expected = rows_at(slot * TEN_MINUTES.step_ms, TEN_MINUTES, 2, 1)["n|shop.task_1"]
    point = inspect.series("24h", name="shop.task_1", now_ms=NOW).points[-4]
    assert (point.came, point.ended, point.waiting) == (expected.came, expected.ended, expected.waiting)


def test_a_wrong_range_and_two_facets_are_refused() -> None:
    with pytest.raises(FilterError, match="there is no range 'year'; write one of 1h, 24h, 14d"):
        inspect.series("year")
    with pytest.raises(FilterError, match="write only one of lane, name, state, error, worker"):
        inspect.series(lane="a", name="b")


def test_the_command_shows_steps_with_data_and_their_total(desk: Desk) -> None:
    assert queue() == "Nothing is known of the last 24h.\n"
    now = desk.now()
    for ago in (2, 3):
        keep(desk, MINUTE.slot(now) - ago, {"p": Row(came=1500, ended=7, waiting=4, oldest_ms=90_000, waits=(20, 3))})
    lines = queue("--range", "1h").splitlines()
    assert lines[0].split()[:8] == ["FROM", "IN", "OUT", "FAILED", "RETRIED", "WAITING", "RUNNING", "OLDEST"]
    assert len(lines) == 4
    assert lines[-1].split()[:7] == ["all", "3000", "14", "0", "0", "4", "-"]
    assert "90 s" in lines[1] or "1.5 min" in lines[1]
    found = json.loads(queue("--range", "1h", "--pool", POOL, "--json"))
    assert (found["range"], found["step_ms"], len(found["points"])) == ("1h", 60_000, 60)
    assert found["total"]["came"] == 3000
    with pytest.raises(CommandError):
        queue("--range", "1h", "--lane", "a", "--name", "b")


def test_the_command_shows_errors_and_workers_with_their_own_columns(desk: Desk) -> None:
    slot = MINUTE.slot(desk.now()) - 2
    worker = Row(ended=9, failed=2, run_ms=30_000, able_ms=240_000, running=3, memory=5 << 20)
    keep(desk, slot, {"e|f1": Row(failed=3), "w|w1": worker})
    assert [line.split()[-1] for line in queue("--range", "1h", "--error", "f1").splitlines()] == ["FAILED", "3", "3"]
    lines = queue("--range", "1h", "--worker", "w1").splitlines()
    assert lines[0].split() == ["FROM", "ENDED", "FAILED", "SLOTS", "USED", "BUSY", "%", "RSS", "MB"]
    assert lines[-1].split() == ["all", "9", "2", "3", "12.5", "5"]
