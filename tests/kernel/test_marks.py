"""Marks of the history: each alarm has one beginning and one end, each worker one start, with any watchdogs."""

from __future__ import annotations

import pytest

from queueops import inspect
from queueops.inspect.alarm import Alarm, warning
from queueops.inspect.new_marks import seen
from queueops.model.marks import GONE_MS, KEPT_MS, MOST_MARKS, START, Condition, Mark
from queueops.redis.broker import get_broker
from queueops.watchdog.marks import EVERY_S, Marks
from queueops.watchdog.watchdog import Watchdog
from tests.kernel.desk import POOL, Desk

PAUSED = Condition("paused", "Lane a is paused.", "warning")


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


def told(desk: Desk) -> list[tuple[str, str]]:
    """Kind and text of all marks, the oldest first."""
    return [(mark.kind, mark.text) for mark in reversed(inspect.series("1h").marks)]


def keep(desk: Desk, *conditions: Condition, starts: tuple[Mark, ...] = ()) -> tuple[int, int]:
    desk.broker.announce(POOL)
    return desk.broker.keep_marks(POOL, conditions, starts)


def later(desk: Desk, ms: int) -> None:
    """Make the last reports of the alarms older."""
    key = desk.keys.alarms
    for about, value in desk.client.hgetall(key).items():
        begun, seen_ms, rest = value.split(b" ", 2)
        desk.client.hset(key, about, b"%d %d %s" % (int(begun) - ms, int(seen_ms) - ms, rest))


def start(number: int, desk: Desk, version: str = "1", names: str = "n", minutes: int = 0) -> Mark:
    at_ms = desk.now() - minutes * 60_000
    return Mark(START, f"w{number}", f"worker {number}", at_ms=at_ms, version=version, names=names)


def test_an_alarm_that_stays_has_one_beginning_and_then_one_end(desk: Desk) -> None:
    assert keep(desk, PAUSED) == (1, 0)
    assert keep(desk, Condition("paused", "Lane a is paused; 7 tasks wait.", "warning")) == (0, 0)
    assert keep(desk) == (0, 0)  # it may come back at once
    assert keep(desk, PAUSED) == (0, 0)
    later(desk, GONE_MS + 5_000)
    assert keep(desk) == (0, 1)
    assert keep(desk) == (0, 0)
    kinds = [kind for kind, _ in told(desk)]
    assert sorted(kinds) == ["alarm", "end"]
    (end,) = [mark for mark in inspect.series("1h").marks if mark.kind == "end"]
    assert (end.text, end.level) == ("Lane a is paused.", "warning")
    assert end.at_ms <= desk.now() - GONE_MS  # when it was last reported
    assert keep(desk, PAUSED) == (1, 0)


def test_the_lists_are_bounded_and_have_the_retention_of_the_history(desk: Desk) -> None:
    for begin in range(0, MOST_MARKS + 200, 100):
        keep(desk, *[Condition(f"c{number}", "text", "danger") for number in range(begin, begin + 100)])
        later(desk, GONE_MS + 1)
    keep(desk, starts=tuple(start(number, desk) for number in range(MOST_MARKS + 50)))
    for which in ("alarms", "starts"):
        assert desk.client.zcard(desk.keys.marks(which)) == MOST_MARKS
        assert KEPT_MS - 60_000 < desk.client.pttl(desk.keys.marks(which)) <= KEPT_MS
    assert desk.client.hlen(desk.keys.alarms) <= 200
    old = Mark(START, "old", "an old one", at_ms=desk.now() - KEPT_MS - 1)
    keep(desk, starts=(old,))
    assert (START, "an old one") not in told(desk)


def test_a_start_is_kept_once_and_those_of_a_minute_are_one_mark(desk: Desk) -> None:
    one = start(1, desk, minutes=5)
    for _ in range(3):
        keep(desk, starts=(one,))
    assert told(desk) == [("start", "worker 1")]
    keep(desk, starts=tuple(start(number, desk, minutes=5) for number in range(2, 5)))
    assert "4 workers of pool default started." in [text for _, text in told(desk)]


def test_another_version_and_other_code_are_marks_of_their_own(desk: Desk) -> None:
    keep(desk, starts=(start(1, desk, "1.0", minutes=9), start(2, desk, "1.0", minutes=7)))
    keep(desk, starts=(start(3, desk, "1.1", minutes=5), start(4, desk, "1.1", "other", minutes=3)))
    found = [text for kind, text in told(desk) if kind == "version"]
    assert found == [
        "Workers of pool default have the version 1.1; before it was 1.0.",
        "Workers of pool default have new code: they know other tasks than before.",
    ]
    after = desk.now() + 54 * 60_000  # the version before the range counts, too
    assert [mark.kind for mark in inspect.series("1h", now_ms=after).marks].count("version") == 2


def test_a_watchdog_marks_alarms_and_workers_and_a_second_one_adds_none(desk: Desk) -> None:
    desk.push("a")
    desk.broker.beat(POOL, "w1", {"started": desk.now(), "host": "h", "pid": 7, "version": "1", "state": "quiet"})
    for _ in range(2):
        desk.client.delete(desk.keys.sampler)
        Watchdog(desk.broker, pools=[POOL], look=seen).round()
    found = told(desk)
    assert ("start", "Worker h process 7 of pool default started, version 1.") in found
    assert [kind for kind, text in found if text.startswith("All workers of the pool default are quiet")] == ["alarm"]


def test_a_pool_is_looked_at_every_few_seconds(desk: Desk) -> None:
    now, looks = [0.0], list[str]()
    marks = Marks(desk.broker, lambda pool: (looks.append(pool), seen(pool))[1], lambda: now[0])
    for _ in range(2 * round(EVERY_S)):
        marks.go_on(POOL)
        now[0] += 1
    assert looks == [POOL] * 2


def test_a_full_store_takes_no_marks_and_they_are_reported_again(desk: Desk) -> None:
    now = [0.0]
    desk.push("a")
    marks = Marks(desk.broker, seen, lambda: now[0])
    desk.client.config_set("maxmemory", 1)
    try:
        assert marks.go_on(POOL) == {}
    finally:
        desk.client.config_set("maxmemory", 0)
    now[0] += EVERY_S
    assert marks.go_on(POOL)["alarms"] >= 1


def test_an_unreadable_mark_or_alarm_is_left_out(desk: Desk) -> None:
    keep(desk, PAUSED)
    desk.client.zadd(desk.keys.marks("alarms"), {"{odd": desk.now(), '["alarm"]': desk.now()})
    desk.client.hset(desk.keys.alarms, "odd", "x")
    assert keep(desk, PAUSED) == (0, 1)
    assert told(desk) == [("alarm", PAUSED.text)]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (warning("3 wait", "lanes", "manage.py queue set-lane a --pool p --limit 2"), None, False),
        (
            warning("3 wait", "lanes", "manage.py queue set-lane a --pool p --limit 2"),
            warning("9 wait", "lanes", "manage.py queue set-lane a --pool p --limit 4"),
            True,
        ),
        (
            warning("3 wait", "lanes", "manage.py queue set-lane 1 --pool p --limit 2"),
            warning("3 wait", "lanes", "manage.py queue set-lane 2 --pool p --limit 2"),
            False,
        ),
    ],
)
def test_an_alarm_is_the_same_whatever_its_figures_are(one: Alarm, other: Alarm | None, same: bool) -> None:
    assert (one.key == (other or warning("x", "health", "")).key) is same


def test_an_alarm_tells_its_pool_and_since_when_its_watchdog_reports_it(desk: Desk) -> None:
    desk.push("a", lane="bulk")
    desk.broker.lane("default", "bulk", paused=1)
    desk.tick()
    (new,) = [alarm for alarm in inspect.snapshot().alarms if "paused" in alarm.text]
    assert (new.key, new.kind, new.pools, new.since_ms) == ("lane default/bulk", "lane", ("default",), None)
    desk.broker.keep_marks(POOL, seen(POOL).conditions, ())
    later(desk, 60_000)
    for found in (inspect.snapshot().alarms, inspect.status().alarms):
        (told,) = [alarm for alarm in found if alarm.key == new.key]
        assert 60_000 <= desk.now() - (told.since_ms or 0) < 600_000
