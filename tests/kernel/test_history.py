"""Roll-up of a pool's history: each count is rolled up once, by one watchdog or by several, at any time."""

from __future__ import annotations

import random
import re

import pytest

from queueops.model.contracts import Outcome
from queueops.model.history import HOUR, LEVELS, MINUTE, MOST_NAMES, TEN_MINUTES, Level, Row, Rows, minute_rows, total
from queueops.watchdog.history_rollup import HistoryRollup
from queueops.watchdog.watchdog import Watchdog
from tests.kernel.desk import POOL, Desk
from tests.support.chunkwork import ChunkWork

HOUR_MS = HOUR.step_ms


@pytest.fixture(autouse=True)
def early(desk: Desk) -> None:
    """Each test begins and ends in the same minute."""
    desk.await_early_minute()


def plant(desk: Desk, ms: int, name: str = "a", count: int = 1) -> None:
    """Count pushes in the minute of this time."""
    desk.client.hincrby(desk.keys.metrics(MINUTE.slot(ms)), f"in|{name}", count)


def roll(desk: Desk, now_ms: int, rollup: HistoryRollup | None = None) -> None:
    """Roll up all that is closed at this time."""
    rollup = rollup or HistoryRollup(desk.broker)
    while rollup.go_on(desk.pool, now_ms):
        pass


def steps(desk: Desk, level: Level) -> dict[int, Rows]:
    """All steps of a level that are stored."""
    names = desk.client.scan_iter(desk.keys.history(level.word, 0)[:-1] + "*", count=10_000)
    slots = sorted(int(name.rpartition(b":")[2]) for name in names)
    return dict(zip(slots, desk.broker.history_steps(desk.pool, level, slots), strict=True))


def came(desk: Desk, level: Level, name: str = "a") -> int:
    """How many pushes of a name are in all steps of a level."""
    return sum(rows.get(f"n|{name}", Row()).came for rows in steps(desk, level).values())


def test_the_history_of_a_pool_counts_its_waiting_and_running_chunks(desk: Desk) -> None:
    work = ChunkWork(desk.broker, pool=POOL)
    work.map(list(range(10)))
    work.claim(4)
    desk.push("waits")
    desk.broker.draw(POOL, "w", 1)
    roll(desk, desk.now() + MINUTE.step_ms)
    (rows,) = steps(desk, MINUTE).values()
    assert (rows["p"].waiting, rows["p"].running) == (1 + 6, 4)
    assert rows["s|pending"].waiting == 1


def test_a_watchdog_rolls_up_what_workers_and_producers_counted(desk: Desk) -> None:
    desk.push("a", "b", lane="bulk", retries=1)
    first, second = desk.claim(2)
    metrics = {"ok|tests.noop": 1, "run|tests.noop|20": 1, "@ok|bulk": 1, "@run|bulk|20": 1}
    desk.settle(first)
    desk.settle(second, Outcome.ERROR, delay_ms=60_000, fingerprint="f")
    desk.exchange("w1", metrics=metrics)
    desk.broker.draw(POOL, "w", 1)
    roll(desk, desk.now() + MINUTE.step_ms)
    (rows,) = steps(desk, MINUTE).values()
    assert (rows["p"].came, rows["p"].ended, rows["p"].retried) == (2, 1, 1)
    assert (rows["p"].waiting, rows["p"].running) == (0, 0)
    assert (rows["l|bulk"].came, rows["l|bulk"].ended, rows["l|bulk"].waiting) == (2, 1, 0)
    assert rows["n|tests.noop"].runtime_ms(0.5)[0]
    assert rows["s|restart"].waiting == rows["s|succeeded"].waiting == 1
    assert rows["s|restart"].came == 1


def test_what_waits_is_observed_once_a_minute_and_does_not_stand_in_the_snapshot(desk: Desk) -> None:
    desk.push("a", "b", "c")
    desk.claim(1)
    for _ in range(3):
        assert b"@g" not in desk.broker.draw(POOL, "w", 1)
        desk.client.delete(desk.keys.sampler)
    found = desk.client.hgetall(desk.keys.metrics(MINUTE.slot(desk.now())))
    assert re.fullmatch(rb"1 - \d+", found[b"@g|s|locked"])
    assert found[b"@g|p"].startswith(b"2 1 ")
    assert found[b"@g|l|default"].startswith(b"2 1 ")
    assert re.fullmatch(rb"2 1 \d+", found[b"@g|n|tests.noop"])


def oldest(desk: Desk, name: str) -> int:
    """The age of the oldest waiting task of a name, as the history observes it now; -1 for none."""
    desk.client.delete(desk.keys.sampler)
    desk.client.delete(desk.keys.metrics(MINUTE.slot(desk.now())))
    desk.broker.draw(POOL, "w", 1)
    rows = minute_rows(
        {
            field.decode(): value.decode()
            for field, value in desk.client.hgetall(desk.keys.metrics(MINUTE.slot(desk.now()))).items()
        }
    )
    return rows[f"n|{name}"].oldest_ms


def test_a_name_has_the_age_of_its_oldest_waiting_task(desk: Desk) -> None:
    desk.push(*[f"a{number}" for number in range(60)], name="shop.mail")
    for lease in desk.claim(50):
        desk.settle(lease)  # they are kept, and stand before those that wait
    desk.push(*[f"b{number}" for number in range(300)], name="other")
    waiting = [f"a{number}" for number in range(50, 60)]
    now = desk.now()
    ages = {id: now - 60_000 * (20 - place) for place, id in enumerate(waiting)}
    desk.client.zadd(desk.keys.state("pending"), ages, xx=True)
    assert 20 * 60_000 <= oldest(desk, "shop.mail") < 20.5 * 60_000
    assert oldest(desk, "other") < 60_000
    desk.drain()
    assert oldest(desk, "shop.mail") == -1


def test_an_old_task_that_later_ones_overtook_is_found(desk: Desk) -> None:
    desk.push("old", name="shop.mail", priority=-5)
    desk.push(*[f"a{number}" for number in range(100)], name="shop.mail")
    desk.client.zadd(desk.keys.state("pending"), {"old": desk.now() - 600_000}, xx=True)
    for lease in desk.claim(90):
        desk.settle(lease)
    assert oldest(desk, "shop.mail") >= 600_000


def test_a_state_has_the_age_of_its_oldest_task(desk: Desk) -> None:
    desk.push("a", lane="bulk")
    entered = desk.now() - 90_000
    desk.client.zadd(desk.keys.state("pending"), {"a": entered}, xx=True)
    desk.broker.draw(POOL, "w", 1)
    roll(desk, desk.now() + MINUTE.step_ms)
    (rows,) = steps(desk, MINUTE).values()
    assert 90_000 <= rows["s|pending"].oldest_ms < 150_000


def test_each_step_is_in_three_levels_and_an_open_one_in_none(desk: Desk) -> None:
    now = desk.now() // HOUR_MS * HOUR_MS
    for minutes in (-1, 0, 9, 10, 59):
        plant(desk, now + minutes * MINUTE.step_ms)
    roll(desk, now + HOUR_MS - 1)
    assert [came(desk, level) for level in LEVELS] == [4, 4, 1]
    roll(desk, now + HOUR_MS)
    assert [came(desk, level) for level in LEVELS] == [5, 5, 5]
    assert list(steps(desk, HOUR)) == [HOUR.slot(now) - 1, HOUR.slot(now)]
    assert {rows["n|a"].came for rows in steps(desk, TEN_MINUTES).values()} == {1, 2}


def test_every_step_has_its_end_and_counters_end_soon_after_their_roll_up(desk: Desk) -> None:
    now = desk.now() // HOUR_MS * HOUR_MS
    plant(desk, now - HOUR_MS)
    roll(desk, now)
    for level in LEVELS:
        (slot,) = steps(desk, level)
        assert level.kept_s - 60 <= desk.client.ttl(desk.keys.history(level.word, slot)) <= level.kept_s
    assert 0 < desk.client.ttl(desk.keys.metrics(MINUTE.slot(now - HOUR_MS))) <= 6 * 3600


@pytest.mark.parametrize("seed", range(5))
def test_watchdogs_that_stop_midway_lose_nothing_and_count_nothing_twice(desk: Desk, seed: int) -> None:
    rng, now = random.Random(seed), desk.now() // HOUR_MS * HOUR_MS
    for _ in range(200):
        plant(desk, now - rng.randrange(1, 8 * HOUR_MS))
    watchdogs = [HistoryRollup(desk.broker) for _ in range(3)]
    for at in sorted(now - rng.randrange(4 * HOUR_MS) for _ in range(60)):
        if rng.random() < 0.2:
            watchdogs[rng.randrange(3)] = HistoryRollup(desk.broker)  # one has died, and another starts
        rng.choice(watchdogs).go_on(POOL, at)
    roll(desk, now)
    assert [came(desk, level) for level in LEVELS] == [200, 200, 200]


def test_a_watchdog_that_comes_after_hours_continues_where_the_last_one_stopped(desk: Desk) -> None:
    now = desk.now() // HOUR_MS * HOUR_MS
    plant(desk, now - 30 * HOUR_MS)
    roll(desk, now - 29 * HOUR_MS)
    for hours in range(29):
        plant(desk, now - hours * HOUR_MS - 1)
    roll(desk, now)
    assert [came(desk, level) for level in LEVELS] == [30, 30, 30]


def test_counts_of_a_clock_that_was_set_back_are_added(desk: Desk) -> None:
    now = desk.now() // HOUR_MS * HOUR_MS
    rollup = HistoryRollup(desk.broker)
    for minute in range(120):
        plant(desk, now - minute * MINUTE.step_ms - 1)
    roll(desk, now, rollup)
    for minute in range(60):  # once more the same hour
        roll(desk, now - HOUR_MS + minute * MINUTE.step_ms, rollup)
        plant(desk, now - HOUR_MS + minute * MINUTE.step_ms)
    roll(desk, now, rollup)
    assert [came(desk, level) for level in LEVELS] == [180, 180, 180]


def test_a_clock_that_was_set_forward_leaves_a_gap_and_loses_nothing(desk: Desk) -> None:
    now = desk.now() // HOUR_MS * HOUR_MS
    plant(desk, now - 1)
    plant(desk, now + 20 * HOUR_MS)
    roll(desk, now + 21 * HOUR_MS)
    assert [came(desk, level) for level in LEVELS] == [2, 2, 2]
    assert len(steps(desk, HOUR)) == 2


def test_a_late_roll_up_does_not_replace_one_that_counts_more(desk: Desk) -> None:
    slot = MINUTE.slot(desk.now()) - 5
    desk.broker.keep_history(POOL, MINUTE, {slot: {"p": Row(came=5)}}, slot)
    desk.broker.keep_history(POOL, MINUTE, {slot: {"p": Row(came=4)}}, slot)
    assert desk.broker.history_steps(POOL, MINUTE, [slot]) == [{"p": Row(came=5)}]
    desk.broker.keep_history(POOL, MINUTE, {slot: {"n|a": Row(came=6)}}, slot)
    assert desk.broker.history_steps(POOL, MINUTE, [slot]) == [{"n|a": Row(came=6)}]


def test_many_names_are_stored_in_parts_and_the_rest_in_one_row(desk: Desk) -> None:
    now = desk.now() // HOUR_MS * HOUR_MS
    for minute in range(10):
        for number in range(MOST_NAMES + 50):
            plant(desk, now - HOUR_MS + minute * MINUTE.step_ms, f"n{number}", number + 1)
    roll(desk, now)
    for level in LEVELS:
        found = steps(desk, level)
        assert {len(rows) for rows in found.values()} == {MOST_NAMES + 1}
        assert sum(map(total, found.values())) == 10 * sum(range(1, MOST_NAMES + 51))


def test_a_minute_has_counters_of_so_many_lanes_and_one_of_the_others(desk: Desk) -> None:
    key = desk.keys.metrics(MINUTE.slot(desk.now()))
    desk.client.hset(key, mapping={f"@ok|l{number}": 1 for number in range(3000)})
    desk.push("a", lane="late")
    desk.exchange("w1", metrics={"@ok|late": 2, "@run|late|7|20": 3, "@wait|late|3": 1, "ok|a": 1})
    found = desk.client.hgetall(key)
    assert {field: found[field] for field in (b"@in|", b"@ok|", b"@run||20", b"@wait||3", b"ok|a")} == {
        b"@in|": b"1",
        b"@ok|": b"2",
        b"@run||20": b"3",
        b"@wait||3": b"1",
        b"ok|a": b"1",
    }
    assert not any(b"late" in field for field in found)


def test_a_broken_step_counts_as_empty_and_the_next_ones_are_stored(desk: Desk) -> None:
    now = desk.now() // HOUR_MS * HOUR_MS
    for minute in (1, 2):
        plant(desk, now - minute * MINUTE.step_ms)
    desk.client.set(desk.keys.history("1m", MINUTE.slot(now) - 2), "odd")
    roll(desk, now)
    assert came(desk, HOUR) >= 1
    desk.client.flushall()


def test_a_round_of_the_watchdog_rolls_up(desk: Desk) -> None:
    plant(desk, desk.now() - MINUTE.step_ms)
    Watchdog(desk.broker, pools=[POOL]).round()
    for _ in range(60):
        if steps(desk, MINUTE):
            break
        desk.client.delete(desk.keys.sampler)
        Watchdog(desk.broker, pools=[POOL]).round()
    assert came(desk, MINUTE) == 1


def test_a_full_store_takes_no_history_and_loses_none(desk: Desk) -> None:
    now = desk.now() // HOUR_MS * HOUR_MS
    plant(desk, now - 1)
    rollup = HistoryRollup(desk.broker)
    desk.client.config_set("maxmemory", 1)
    try:
        roll(desk, now, rollup)
        assert came(desk, MINUTE) == 0
    finally:
        desk.client.config_set("maxmemory", 0)
    roll(desk, now, rollup)
    assert came(desk, MINUTE) == 0
    roll(desk, now + MINUTE.step_ms, rollup)
    assert [came(desk, level) for level in LEVELS] == [1, 1, 1]
