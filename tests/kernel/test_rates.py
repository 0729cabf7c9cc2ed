"""A lane's rate: never more starts than it allows, and none later than it must be."""

from __future__ import annotations

import math

import pytest

from queueops import conf
from queueops.model.contracts import Lease, Outcome
from tests.kernel.desk import POOL, Desk, ids_of, make
from tests.support.waiting import wait_until

SLOW = 0.001
"""A start each thousand seconds: no token comes while a test runs, but by `refill`."""


def rated(desk: Desk, rate: float | None, lane: str = "x") -> None:
    """The lane has this rate."""
    desk.broker.lane(POOL, lane, rate=rate)


def refill(desk: Desk, lane: str = "x") -> None:
    """The time of the lane's tokens has come."""
    desk.client.hset(desk.keys.lane_conf(lane), "tat", 1)
    desk.make_due(f"~lane:{lane}")


def tat_ms(desk: Desk, lane: str = "x") -> float:
    """When the lane's bucket is full again."""
    return float(desk.client.hget(desk.keys.lane_conf(lane), "tat") or 0) / 1000


def back_at(desk: Desk, lane: str = "x") -> float | None:
    """When a lane that is out of the round comes back; None when it is in the round."""
    if desk.client.zscore(desk.keys.lanes_ready, lane) is not None:
        return None
    at = desk.client.zscore(desk.keys.agenda, f"~lane:{lane}")
    assert at is not None
    return float(at)


def test_a_lane_whose_tokens_are_used_up_leaves_the_round_until_the_next_one(desk: Desk) -> None:
    rated(desk, SLOW)
    desk.push("a", "b", lane="x")
    before = desk.now()
    assert ids_of(desk.claim(5)) == ["a"]
    assert back_at(desk) == math.ceil(tat_ms(desk))  # of a bucket of one token, that is the time of the next one
    assert before + 1_000_000 <= tat_ms(desk) <= desk.now() + 1_000_001
    assert desk.claim(5) == []
    desk.push("c", lane="x")
    desk.check()
    refill(desk)
    assert ids_of(desk.claim(5)) == ["b"]
    assert desk.claim(5) == []


def test_a_second_of_starts_may_come_at_once(desk: Desk) -> None:
    rated(desk, 3.7)
    desk.broker.push([make(f"t{number}", lane="x") for number in range(10)])
    first = len(desk.claim(10))
    assert first == 3
    assert back_at(desk) == pytest.approx(tat_ms(desk) - 2 * 1000 / 3.7, abs=1.001)


def test_no_more_start_in_any_time_than_the_burst_and_the_rate_allow(desk: Desk) -> None:
    rate, count = 60, 100
    rated(desk, rate)
    desk.broker.push([make(f"t{number}", lane="x", retries=9) for number in range(count)])
    begun: list[int] = []

    def claim() -> bool:
        found = desk.exchange("w1", want=7, idle=True).leases
        begun.extend(begin_of(desk, lease) for lease in found)
        for number, lease in enumerate(found):
            desk.settle(lease, Outcome.RELEASE if number == 0 else Outcome.SUCCESS)  # what is released starts again
        return len(begun) >= count

    wait_until(claim, every=0.001)
    for first, at in enumerate(begun):
        for last in range(first, len(begun)):
            elapsed = begun[last] - at + 1  # the times are cut to whole ms
            assert last - first + 1 <= rate + rate * elapsed / 1000
    desk.check()


def begin_of(desk: Desk, lease: Lease) -> int:
    """The server's time at the start, in ms."""
    record = desk.record(lease.id)
    assert record is not None
    assert record.begun is not None
    return record.begun


def test_each_lane_has_its_own_tokens_and_one_without_a_rate_any_number(desk: Desk) -> None:
    rated(desk, SLOW, "x")
    rated(desk, 2 * SLOW, "y")
    for lane in ("x", "y", "z"):
        desk.push(*(f"{lane}{number}" for number in range(4)), lane=lane)
    assert sorted(ids_of(desk.claim(20))) == ["x0", "y0", "z0", "z1", "z2", "z3"]
    assert desk.client.hgetall(desk.keys.lane_conf("z")) == {}


def test_a_limit_and_a_rate_hold_both(desk: Desk) -> None:
    desk.broker.lane(POOL, "x", limit=1, rate=3)
    desk.push(*"abcdefgh", lane="x")
    leases = desk.claim(5)
    assert ids_of(leases) == ["a"]
    assert desk.client.zscore(desk.keys.agenda, "~lane:x") is None  # it has tokens: a freed slot brings it back
    desk.broker.lane(POOL, "x", rate=SLOW)
    desk.settle(leases[0])
    desk.check()


def test_what_starts_again_takes_a_token_again_and_a_release_gives_none_back(desk: Desk) -> None:
    rated(desk, SLOW)
    desk.push("a", lane="x", retries=3)
    desk.settle(desk.lease(), Outcome.RELEASE)
    assert desk.claim() == []
    refill(desk)
    desk.settle(desk.lease(), Outcome.ERROR)
    desk.make_due("a")
    desk.tick()
    assert desk.state("a") == "pending"
    assert desk.claim() == []


def test_a_task_whose_record_is_lost_takes_no_token(desk: Desk) -> None:
    rated(desk, SLOW)
    desk.push("a", "b", lane="x")
    desk.client.delete(desk.keys.task("a"))
    desk.broken = desk.haunted = {"a"}
    assert ids_of(desk.claim(5)) == ["b"]


@pytest.mark.parametrize("state", ["paused", "empty", "gone"])
def test_the_time_of_a_token_that_nobody_needs_changes_nothing(desk: Desk, state: str) -> None:
    rated(desk, SLOW)
    desk.push("a", "b", lane="x")
    desk.claim()
    if state == "paused":
        desk.broker.lane(POOL, "x", paused=1)
        assert desk.client.zscore(desk.keys.agenda, "~lane:x") is None
    if state in ("empty", "gone"):
        assert desk.told("cancel", "b") == "OK"
    if state == "gone":
        rated(desk, None)
    desk.client.zadd(desk.keys.agenda, {"~lane:x": 1, "~lane:": 1, "~lane:nobody": 1})
    desk.tick()
    desk.tick()
    assert desk.client.zcard(desk.keys.lanes_ready) == 0
    assert desk.client.zcount(desk.keys.agenda, "-inf", desk.now()) == 0


def test_a_lane_that_is_looked_at_too_early_or_twice_waits_on(desk: Desk) -> None:
    rated(desk, SLOW)
    desk.push("a", "b", lane="x")
    desk.claim()
    expected = back_at(desk)
    for _ in range(2):
        desk.make_due("~lane:x")
        desk.tick()
        assert back_at(desk) == expected
        assert desk.claim() == []


def test_idle_workers_sleep_to_the_next_token_and_come_back_for_it(desk: Desk) -> None:
    rated(desk, 2)
    desk.push(*"abcd", lane="x")
    assert ids_of(desk.claim(5)) == ["a", "b"]
    found = desk.exchange("w1", want=5, idle=True)
    assert found.leases or 0 < found.sleep_ms <= 501
    if not found.leases:
        (lease,) = wait_until(lambda: desk.exchange("w1", want=1, idle=True).leases)
        assert lease.id == "c"


def test_a_worker_that_would_sleep_past_the_next_token_is_woken(desk: Desk) -> None:
    rated(desk, SLOW)
    desk.push("a", lane="x")
    desk.claim()
    desk.exchange("w2", want=1, idle=True)
    asleep_until = desk.now() + 2_000_000
    desk.client.zadd(desk.keys.idle, {"w2": asleep_until})
    desk.push("b", lane="x")
    assert desk.client.lrange(desk.keys.wake("w2"), 0, -1) == [b"work"]


def test_tokens_that_have_come_wake_as_many_as_they_let_start(desk: Desk) -> None:
    rated(desk, 2)
    desk.push(*"abcdef", lane="x")
    desk.claim(2)
    later = desk.now() + 500_000
    desk.client.zadd(desk.keys.idle, dict.fromkeys(("w2", "w3", "w4"), later))
    refill(desk)
    desk.tick()
    assert desk.client.zcard(desk.keys.idle) == 1


def test_an_empty_bucket_from_the_future_is_empty_now(desk: Desk) -> None:
    rated(desk, 1)
    desk.push("a", "b", lane="x")
    desk.claim()
    future = desk.now() + 3_600_000
    desk.client.hset(desk.keys.lane_conf("x"), "tat", future * 1000)  # the clock was set back by an hour
    desk.client.zadd(desk.keys.agenda, {"~lane:x": future})
    desk.client.hset(desk.keys.clock, "beat", future)
    desk.tick()
    at = back_at(desk)
    assert at is None or at <= desk.now() + 1001
    wait_until(lambda: ids_of(desk.claim()) == ["b"])


def test_a_rate_that_is_changed_or_removed_counts_at_once(desk: Desk) -> None:
    rated(desk, SLOW)
    desk.push(*"abcde", lane="x")
    desk.claim()
    assert desk.broker.lane(POOL, "x", rate=SLOW) == {"rate": "0.001"}
    assert desk.claim() == []  # to say it again gives no new token
    rated(desk, 1000)
    at = back_at(desk)
    assert at is None or at <= desk.now() + 51
    rated(desk, None)
    assert ids_of(desk.claim(9)) == ["b", "c", "d", "e"]
    assert desk.client.hgetall(desk.keys.lane_conf("x")) == {}
    assert desk.client.zscore(desk.keys.agenda, "~lane:x") is None


@pytest.mark.parametrize("garbage", [b"\xff\x00", b"", b"-5", b"0", b"nan", b"inf", b"-inf", b"1e400", b"9" * 400])
def test_garbage_where_a_rate_or_its_bucket_should_be_harms_nobody(desk: Desk, garbage: bytes) -> None:
    key = desk.keys.lane_conf("x")
    desk.client.hset(key, mapping={"rate": garbage})
    desk.push("a", lane="x")
    assert ids_of(desk.claim(5)) == ["a"]
    desk.client.hset(key, mapping={"rate": 1000, "tat": garbage})
    desk.push("b", lane="x")
    wait_until(lambda: ids_of(desk.claim(5)) == ["b"])


def test_the_settings_give_a_lane_its_first_rate(desk: Desk) -> None:
    declare(desk, rate=0.5)
    desk.push("a", "b", lane="x")
    assert ids_of(desk.claim(5)) == ["a"]
    assert back_at(desk) == math.ceil(tat_ms(desk))


def test_what_an_operator_changed_stays_until_the_settings_say_something_new(desk: Desk) -> None:
    declare(desk, rate=0.5, limit=3)
    desk.broker.lane(POOL, "x", limit=7, rate=None)
    declare(desk, rate=0.5, limit=3)
    assert desk.broker.lane(POOL, "x") == {"limit": "7", "weight": "1"}
    declare(desk, rate=2, limit=3)
    assert desk.broker.lane(POOL, "x") == {"limit": "7", "rate": "2", "weight": "1"}
    declare(desk, limit=4)
    assert desk.broker.lane(POOL, "x") == {"limit": "4", "weight": "1"}


def test_a_lane_that_was_only_paused_gets_what_the_settings_say(desk: Desk) -> None:
    desk.broker.lane(POOL, "x", paused=1, weight=5)
    declare(desk, limit=3)
    assert desk.broker.lane(POOL, "x") == {"paused": "1", "limit": "3", "weight": "5"}


def declare(desk: Desk, **said: float) -> None:
    """Start a worker's line with these settings."""
    lanes = {"x": conf.LaneSettings(**said)}
    object.__setattr__(desk.broker.settings, "pools", {POOL: conf.PoolSettings(lanes=lanes)})
    desk.broker.declare_lanes(POOL)
