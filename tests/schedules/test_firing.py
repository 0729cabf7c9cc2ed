"""What a tick does, in Redis: once, however many see it come; compare and set; overlap; catching up; garbage."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from queueops import inspect
from queueops.model.contracts import Outcome
from queueops.redis.schedule_keys import log_key, schedule_key
from queueops.schedules.definition import Firing
from queueops.schedules.missed_runs import COUNTED, LATE_MS, firing
from tests.kernel.desk import POOL
from tests.schedules.conftest import HOUR_MS, Clock


def test_a_tick_creates_a_task_and_sets_the_next(clock: Clock) -> None:
    assert clock.define(push={"args": b"[[1],{}]", "priority": 5, "tags": ("red",)}) == "OK"
    tick = clock.came()
    assert clock.fire() == {"fired": 1}
    (run,) = clock.runs()
    record = clock.record(run)
    assert record is not None
    assert (record.state, record.args, record.priority, record.tags) == ("pending", b"[[1],{}]", 5, ("red",))
    state = clock.of()
    assert (state.moment("lf"), state.fields["lt"], state.last_state) == (tick, run, "pending")
    assert state.due_ms is not None
    assert state.due_ms > tick + 1000 * HOUR_MS
    assert clock.drain() == [run]


def test_before_its_tick_nothing_happens(clock: Clock) -> None:
    clock.define()
    assert clock.fire() == {}
    assert clock.runs() == []


def test_two_watchdogs_that_see_the_same_tick_fire_it_once(clock: Clock) -> None:
    for number in range(20):
        clock.define(f"s{number}", ago_ms=0)
    together = Barrier(4)

    def look() -> int:
        together.wait(30)
        return clock.fire(clock.watchdog()).get("fired", 0)

    with ThreadPoolExecutor(4) as threads:
        fired = sum(future.result() for future in [threads.submit(look) for _ in range(4)])
    assert fired == 20
    assert all(len(clock.runs(f"s{number}")) == 1 for number in range(20))


def test_the_same_call_twice_is_known(clock: Clock) -> None:
    clock.define(ago_ms=0)
    row = clock.of()
    assert row.definition is not None
    assert row.due_ms is not None
    plan = firing(row.definition, row.due_ms, clock.now())
    assert clock.broker.fire(row, row.definition, plan) == ["OK", "FIRED"]
    assert clock.broker.fire(row, row.definition, plan) == ["REPEAT"]
    assert len(clock.runs()) == 1
    assert clock.words() == ["FIRED"]


@pytest.mark.parametrize("verb", ["pause", "orphan", "delete", "put"])
def test_who_saw_an_older_version_fires_nothing(verb: str, clock: Clock) -> None:
    clock.define(ago_ms=0)
    row = clock.of()
    assert row.definition is not None
    if verb == "put":
        row.definition.catch_up = "skip"
        assert clock.broker.put_schedule(POOL, row.definition, row.due_ms, seen=row.version) == "OK"
    else:
        assert clock.broker.change_schedule(POOL, "s", verb) == "OK"
    words = clock.broker.fire(row, row.definition, Firing([1000], 0, None))
    assert words == ["GONE" if verb == "delete" else "STALE"]
    assert clock.runs() == []


def test_a_tick_whose_task_is_there_already_creates_none(clock: Clock) -> None:
    clock.define(ago_ms=0)
    row = clock.of()
    assert row.definition is not None
    assert row.due_ms is not None
    clock.push(row.definition.run_id(row.due_ms))
    assert clock.fire() == {"exists": 1}


def test_a_paused_schedule_rests_and_does_not_make_up_for_it(clock: Clock) -> None:
    clock.define(catch_up="all")
    assert clock.broker.change_schedule(POOL, "s", "pause", who="ada") == "OK"
    assert clock.broker.change_schedule(POOL, "s", "pause") == "REPEAT"
    assert (clock.of().due_ms, clock.of().fields["pw"]) == (None, "ada")
    assert clock.fire() == {}
    later = clock.now() + HOUR_MS
    assert clock.broker.change_schedule(POOL, "s", "resume", due_ms=later) == "OK"
    assert clock.of().due_ms == later


def test_an_overlapping_run_is_skipped_until_the_one_before_has_ended(clock: Clock) -> None:
    clock.define(overlap="skip", ago_ms=0)
    assert clock.fire() == {"fired": 1}
    for _ in range(2):
        clock.came()
        assert clock.fire() == {"skipped": 1}
    assert clock.words() == ["FIRED", "SKIPPED"]
    assert clock.of().moment("sk") == 2
    lease = clock.lease()
    clock.came()
    assert clock.fire() == {"skipped": 1}
    clock.settle(lease)
    clock.came(ago_ms=HOUR_MS)
    assert clock.fire() == {"fired": 1}


@pytest.mark.parametrize(("overlap", "word"), [("skip", "skipped"), ("queue", "queued")])
def test_a_run_by_hand_that_has_ended_hides_none_of_a_tick_that_goes_on(overlap: str, word: str, clock: Clock) -> None:
    clock.define(overlap=overlap, ago_ms=0)
    clock.fire()
    (first,) = clock.claim(1)
    definition = clock.of().definition
    assert definition is not None
    assert clock.broker.fire_by_hand(definition, "s@now.1", clock.now(), "ada") == ["OK", "FIRED"]
    by_hand = clock.lease()
    clock.settle(by_hand)
    clock.came()
    assert clock.fire() == {word: 1}
    assert clock.fire() == {}
    assert len(clock.runs()) == 2
    clock.settle(first)
    clock.came(ago_ms=HOUR_MS)
    clock.fire()
    assert len(clock.runs()) == 3


def test_a_tick_waits_for_the_end_of_a_run_by_hand_too(clock: Clock) -> None:
    clock.define(overlap="skip", ago_ms=0)
    definition = clock.of().definition
    assert definition is not None
    clock.broker.fire_by_hand(definition, "s@now.1", clock.now(), "ada")
    assert clock.fire() == {"skipped": 1}


def test_when_the_clock_was_set_back_the_tick_that_comes_next_is_waited_for(clock: Clock) -> None:
    clock.define(line="*/5 * * * *")
    clock.define("far")
    watchdog, expected, far = clock.watchdog(), clock.of().due_ms, clock.of("far").due_ms
    clock.fire(watchdog)
    clock.came(ago_ms=-400 * 24 * HOUR_MS)
    clock.fire(watchdog)
    assert clock.of().due_ms != expected
    watchdog._seen["default"] += HOUR_MS
    clock.fire(watchdog)
    assert expected <= clock.of().due_ms <= expected + 600_000
    assert clock.of("far").due_ms == far
    clock.came(ago_ms=-400 * 24 * HOUR_MS)
    clock.fire()  # a watchdog that starts looks, too
    assert clock.of().due_ms <= expected + 600_000


def test_a_run_that_backs_off_has_not_ended(clock: Clock) -> None:
    clock.define(overlap="skip", ago_ms=5000, push={"retries": 3})
    clock.fire()
    clock.settle(clock.lease(), Outcome.ERROR, delay_ms=HOUR_MS)
    clock.came()
    assert clock.fire() == {"skipped": 1}


def test_queued_runs_come_one_after_the_other(clock: Clock) -> None:
    clock.define(overlap="queue", ago_ms=9 * HOUR_MS)
    clock.fire()
    for ago_ms in (6 * HOUR_MS, 3 * HOUR_MS):
        clock.came(ago_ms=ago_ms)
        assert clock.fire() == {"queued": 1}
    assert (len(clock.runs()), clock.of().queued) == (1, 2)
    assert clock.fire() == {}
    first = clock.drain()
    assert clock.fire() == {}  # the words are of runs; this one was counted when it was put off
    assert (len(clock.runs()), clock.of().queued) == (2, 1)
    second = clock.drain()
    clock.fire()
    third = clock.drain()
    clock.fire()
    assert [*first, *second, *third] == clock.runs()
    assert clock.of().queued == 0
    assert clock.client.exists(f"{clock.keys.schedules}:queued") == 0


def test_a_queue_has_an_end(clock: Clock) -> None:
    clock.define(overlap="queue", ago_ms=0)
    clock.fire()
    clock.client.rpush(f"{schedule_key(clock.keys, 's')}#queue", *["1000 s@x 1000"] * 100)
    clock.came()
    assert clock.fire() == {"full": 1}


@pytest.mark.parametrize(
    ("policy", "fired", "missed"), [("skip", 0, 5), ("once", 1, 4), ("all", 5, 0), ("all:2", 2, 3)]
)
def test_what_nobody_saw_is_made_up_for_as_the_policy_says(policy: str, fired: int, missed: int, clock: Clock) -> None:
    clock.define(catch_up=policy, line="0 * * * *")
    hour = clock.now() // HOUR_MS * HOUR_MS
    plan = firing(clock.of().definition, hour - 4 * HOUR_MS, hour + 60_000)  # type: ignore[arg-type]
    assert (len(plan.runs), plan.missed, plan.next_ms) == (fired, missed, hour + HOUR_MS)
    assert list(plan.runs) == [hour - n * HOUR_MS for n in reversed(range(fired))]


def test_missed_ticks_are_told(clock: Clock) -> None:
    clock.define(ago_ms=3 * HOUR_MS)
    row = clock.of()
    assert row.definition is not None
    assert clock.broker.fire(row, row.definition, Firing([clock.now()], 3, None)) == ["OK", "FIRED"]
    assert clock.words() == ["MISSED", "FIRED"]
    assert clock.of().moment("ms") == 3


def test_a_tick_seen_a_little_late_is_not_missed(clock: Clock) -> None:
    clock.define(catch_up="skip")
    definition, now = clock.of().definition, clock.now()
    assert definition is not None
    assert list(firing(definition, now - LATE_MS, now).runs) == [now - LATE_MS]
    assert list(firing(definition, now - LATE_MS - 1, now).runs) == []


def test_a_year_of_missed_seconds_is_counted_to_a_limit(clock: Clock) -> None:
    clock.define(line="* * * * * *", catch_up="all:3")
    now = clock.now()
    plan = firing(clock.of().definition, now - 365 * 24 * HOUR_MS, now)  # type: ignore[arg-type]
    second = now // 1000 * 1000
    assert (list(plan.runs), plan.missed) == ([second - 2000, second - 1000, second], COUNTED - 3)


def test_jitter_delays_a_run_by_a_chance_that_all_agree_on(clock: Clock) -> None:
    clock.define(jitter_ms=600_000, ago_ms=0)
    definition, tick = clock.of().definition, clock.of().due_ms
    assert definition is not None
    assert tick is not None
    starts = [definition.start_ms(tick + n * HOUR_MS) - n * HOUR_MS for n in range(50)]
    assert starts == [definition.start_ms(tick + n * HOUR_MS) - n * HOUR_MS for n in range(50)]
    assert all(tick <= start <= tick + 600_000 for start in starts)
    assert len(set(starts)) > 40


def test_a_run_with_jitter_is_postponed(clock: Clock) -> None:
    clock.define(jitter_ms=80_000_000, id="a", ago_ms=0)
    clock.fire()
    (run,) = clock.runs("a")
    record = clock.record(run)
    assert record is not None
    tick = clock.of("a").moment("lf")
    assert (record.state, record.due) == ("postponed", clock.of("a").definition.start_ms(tick))  # type: ignore[union-attr, arg-type]


@pytest.mark.parametrize("value", [b"", b"{", b"[]", b'{"id":"s"}', b"\xff\xfe", None])
def test_garbage_is_shown_and_left_alone(value: bytes | None, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    clock.define("good", ago_ms=0)
    clock.define(ago_ms=0)
    if value is None:
        clock.client.delete(schedule_key(clock.keys, "s"))
    else:
        clock.client.hset(schedule_key(clock.keys, "s"), "x", value)
    assert clock.fire() == {"fired": 1}
    assert clock.fire() == {}
    assert "does not run: " in caplog.text
    conditions = {row.id: row.condition for row in inspect.schedules()}
    assert conditions == {"good": "active", "s": "broken"}
    (alarm,) = [alarm for alarm in inspect.snapshot().alarms if "has stopped" in alarm.text]
    assert alarm.text.startswith("Schedule s of pool ")
    assert alarm.command == f"manage.py queue schedule s delete --pool {clock.pool}"
    assert clock.broker.change_schedule(clock.pool, "s", "delete") == "OK"
    assert "has stopped" not in str(inspect.snapshot().alarms)


def test_a_key_of_another_type_is_shown_and_can_be_deleted(clock: Clock) -> None:
    clock.define(ago_ms=0)
    clock.client.delete(schedule_key(clock.keys, "s"))
    clock.client.set(schedule_key(clock.keys, "s"), "?")
    assert clock.fire() == {}
    assert inspect.schedules()[0].condition == "broken"
    assert clock.broker.change_schedule(POOL, "s", "delete") == "OK"
    assert inspect.schedules() == []


def test_a_garbled_history_is_no_hindrance(clock: Clock) -> None:
    clock.define(ago_ms=0, overlap="skip")
    clock.fire()
    clock.client.rpush(log_key(clock.keys, "s"), b"\xff", "3", "{}")
    clock.came()
    assert clock.fire() == {"skipped": 1}
    assert clock.words() == ["FIRED", "?", "SKIPPED"]


def test_a_history_has_an_end(clock: Clock) -> None:
    clock.define(line="@every 1s", catch_up="all", ago_ms=250_000)
    clock.fire()
    assert clock.client.llen(log_key(clock.keys, "s")) == 100
