"""The watchdog walks through each pool, and puts right what was changed by hand."""

from __future__ import annotations

import logging

import pytest

from queueops.model.contracts import Outcome
from queueops.model.states import State
from queueops.redis.store_client import BATCH
from queueops.results.handle import TaskHandle
from queueops.watchdog import Watchdog
from queueops.watchdog.log_once import LogOnce
from queueops.watchdog.rolling_check import RollingCheck
from tests.kernel.desk import NEVER_MS, Desk
from tests.support.waiting import wait_until

STATES = sorted({State.PENDING, State.POSTPONED, State.RESTART, State.SUCCEEDED, State.FAILED, State.CANCELLED})


def walk(desk: Desk) -> int:
    """One walk through the pool; how much it put right."""
    check = RollingCheck(desk.broker, LogOnce())
    repaired = check.go_on(desk.pool).get("repaired", 0)
    while check._after[desk.pool]:
        repaired += check.go_on(desk.pool).get("repaired", 0)
    return repaired


@pytest.mark.parametrize("wanted", STATES)
@pytest.mark.parametrize("origin", ["pending", "postponed", "locked", "failed"])
def test_a_state_that_was_set_by_hand_takes_effect(desk: Desk, origin: str, wanted: State) -> None:
    desk.push("a", retries=3, delay_ms=NEVER_MS if origin == "postponed" else None)
    if origin in ("locked", "failed"):
        lease = desk.lease()
        if origin == "failed":
            desk.settle(lease, Outcome.ERROR, delay_ms=-1, fingerprint="f")
    desk.client.hset(desk.keys.task("a"), "s", str(wanted))
    walk(desk)
    assert desk.state("a") == wanted
    assert walk(desk) == 0
    if wanted in (State.POSTPONED, State.RESTART):
        desk.make_due("a")
        desk.tick()
    if wanted in (State.PENDING, State.POSTPONED, State.RESTART):
        assert desk.drain() == ["a"]
    desk.client.flushall()  # the display counters are left to the command


def test_the_watchdog_itself_walks_and_says_what_it_put_right(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.push("a", "b")
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=-1, fingerprint="f")
    desk.client.hset(desk.keys.task("a"), "s", "pending")
    watchdog = Watchdog(desk.broker, period_s=0.01)
    with caplog.at_level(logging.WARNING):
        wait_until(lambda: watchdog.round() and desk.client.zscore(desk.keys.lane("default"), "a"))
    assert "a was put right: it is ready, and not in its lane" in caplog.text
    assert sorted(desk.drain()) == ["a", "b"]
    desk.client.flushall()  # the display counters are left to the command


def test_one_round_takes_more_than_one_batch_of_due_tasks(desk: Desk) -> None:
    due = [f"t{number}" for number in range(BATCH + 1)]
    desk.push(*due, delay_ms=60_000)
    desk.make_due(*due)
    Watchdog(desk.broker).round()
    assert desk.client.zcard(desk.keys.agenda) == 0


def test_a_key_of_another_type_is_logged_once_and_left(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    key = f"{desk.keys.prefix}:trashed"
    desk.client.set(key, "x")
    check = RollingCheck(desk.broker, LogOnce(), rest_s=0)
    with caplog.at_level(logging.ERROR):
        for _ in range(20):
            check.go_on(desk.pool)
    assert caplog.text.count(f"{key} is a string, not a zset") == 1
    assert desk.client.get(key) == b"x"
    desk.client.delete(key)


def test_between_two_walks_the_pool_is_left_alone(desk: Desk) -> None:
    check = RollingCheck(desk.broker, LogOnce(), rest_s=1000)
    while not check._next:
        check.go_on(desk.pool)
    desk.push("a")
    desk.client.zrem(desk.keys.lane("default"), "a")
    assert check.go_on(desk.pool) == {}
    assert not desk.client.exists(desk.keys.lane("default"))
    walk(desk)
    assert desk.drain() == ["a"]


def test_one_unreadable_number_hides_no_state(desk: Desk) -> None:
    desk.push("a")
    handle = TaskHandle("a", desk.pool)
    desk.client.hset(desk.keys.task("a"), "p", "garbage")
    assert desk.broker.record(desk.pool, handle.id).priority == 0
    walk(desk)
    assert desk.client.hget(desk.keys.task("a"), "p") is None


def test_display_counters_are_left_to_the_command(desk: Desk) -> None:
    """Counting anew costs a walk over each name; the watchdog has to be quick."""
    desk.push("a")
    (field,) = (field for field in desk.client.hgetall(desk.keys.counts) if field.startswith(b"n|"))
    desk.client.hset(desk.keys.counts, field, 7)
    assert walk(desk) == 0
    assert desk.client.hget(desk.keys.counts, field) == b"7"
    step = desk.broker.check(desk.pool, repair=True)
    while step.next:
        step = desk.broker.check(desk.pool, step.next, repair=True)
    assert desk.client.hget(desk.keys.counts, field) == b"1"
