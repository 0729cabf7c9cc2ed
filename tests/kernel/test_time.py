"""Outages and clocks: no lease is taken away because the time jumped or Redis was away."""

from __future__ import annotations

import pytest

from queueops.model.contracts import Lease
from tests.kernel.conftest import MakeDesk
from tests.kernel.desk import Desk
from tests.support.waiting import wait_until

LEASE_MS = 30_000


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    """A desk with one task that runs, and whose pool has just heard of its workers."""
    desk = make_desk(lease=LEASE_MS / 1000)
    desk.push("a", "b")
    desk.claim(1)
    return desk


def clock(desk: Desk) -> dict[str, int]:
    """When the pool last heard of a worker or a watchdog, and until when it takes nothing."""
    return {field.decode(): int(value) for field, value in desk.client.hgetall(desk.keys.clock).items()}


def beat_was(desk: Desk, ago_ms: int) -> None:
    """The pool last heard of a worker or a watchdog so long ago; negative: the clock has been set back since."""
    desk.client.hset(desk.keys.clock, "beat", desk.now() - ago_ms)


def test_after_an_outage_nothing_is_taken_for_one_lease(desk: Desk) -> None:
    desk.make_due("a")
    beat_was(desk, 20_000)
    assert desk.tick() == {"spared": 1}
    assert desk.state("a") == "locked"
    assert clock(desk)["grace"] - desk.now() == pytest.approx(LEASE_MS, abs=1000)
    assert desk.client.zscore(desk.keys.agenda, "a") == clock(desk)["grace"]


def test_the_holder_goes_on_after_an_outage(desk: Desk) -> None:
    lease = Lease(id="a", fence=desk.record("a").fence)
    desk.make_due("a")
    beat_was(desk, 3_600_000)
    assert desk.extend(lease).lost == []
    assert desk.settle(lease) == "OK"


def test_a_worker_that_is_really_dead_is_found_out_after_the_grace(desk: Desk) -> None:
    desk.make_due("a")
    beat_was(desk, 20_000)
    desk.tick()
    desk.client.hset(desk.keys.clock, mapping={"grace": desk.now() - 1, "beat": desk.now()})
    desk.make_due("a")
    assert desk.tick() == {"recovered": 1}


def test_without_an_outage_an_ended_lease_is_taken_at_once(desk: Desk) -> None:
    desk.make_due("a")
    beat_was(desk, LEASE_MS // 3)
    assert desk.tick() == {"recovered": 1}


@pytest.mark.parametrize("lease", [0.1, 1.0, 2.0, 30.0])
def test_a_watchdog_alone_finds_out_a_dead_worker_whatever_the_lease(make_desk: MakeDesk, lease: float) -> None:
    """It comes once a second: that is no outage."""
    desk = make_desk(lease=lease)
    desk.push("a")
    desk.claim(1)
    for _ in range(3):
        desk.make_due("a")
        beat_was(desk, 1000)
        desk.tick()
    assert desk.record("a").crashes == 1


def test_a_clock_that_was_set_back_takes_nothing_and_leaves_nothing_behind(desk: Desk) -> None:
    far = desk.now() + 7_200_000
    desk.client.zadd(desk.keys.agenda, {"a": far + LEASE_MS})
    desk.client.hset(desk.keys.clock, "beat", far)
    assert desk.tick() == {}
    grace = clock(desk)["grace"]
    assert desk.client.zscore(desk.keys.agenda, "a") == grace <= desk.now() + LEASE_MS
    assert clock(desk)["beat"] <= desk.now()
    assert desk.state("a") == "locked"


def test_a_small_step_back_is_no_jump(desk: Desk) -> None:
    before = desk.client.zscore(desk.keys.agenda, "a")
    beat_was(desk, -300)
    desk.tick()
    assert "grace" not in clock(desk)
    assert desk.client.zscore(desk.keys.agenda, "a") == before


def test_a_grace_in_the_far_future_does_not_stop_recovery(desk: Desk) -> None:
    desk.client.hset(desk.keys.clock, "grace", desk.now() + 7_200_000)
    desk.make_due("a")
    desk.tick()
    assert desk.client.zscore(desk.keys.agenda, "a") <= desk.now() + LEASE_MS


def test_promotion_and_retention_do_not_wait_for_the_grace(desk: Desk) -> None:
    desk.push("later", delay_ms=5_000_000)
    desk.drain()
    desk.make_due("later", "b")
    beat_was(desk, 20_000)
    assert desk.tick() == {"promoted": 1, "expired": 1}


def test_a_short_lease_really_ends(make_desk: MakeDesk) -> None:
    desk = make_desk(lease=0.2)
    desk.push("short", priority=5)
    old = desk.lease("w1")
    wait_until(lambda: desk.tick() and desk.state("short") == "restart", 60)
    unhurried = make_desk()  # or the new lease may have ended, too, before it is settled
    new = wait_until(lambda: unhurried.claim(1, "w2"), 60)[0]
    assert unhurried.settle(old, worker="w1") == "STALE"
    assert unhurried.settle(new, worker="w2") == "OK"
