"""Order within a lane, fairness between lanes, limits and pauses."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from queueops import inspect
from queueops.model.contracts import Lease, Outcome
from tests.kernel.desk import POOL, Desk, end, ids_of, make

LATER_MS = 5_000_000


def test_a_lane_is_first_in_first_out(desk: Desk) -> None:
    ids = [f"t{number}" for number in range(30)]
    random.shuffle(ids)
    desk.broker.push([make(task_id) for task_id in ids])
    assert ids_of(desk.claim(10)) + desk.drain() == ids


def test_a_lane_is_listed_before_a_task_that_was_moved_to_it_is_ready(desk: Desk) -> None:
    desk.push("a", delay_ms=LATER_MS)
    desk.control("move", "a", value="new")
    assert "new" in {row.lane for row in inspect.lanes()}


def test_a_higher_priority_goes_first_and_numbers_are_numbers(desk: Desk) -> None:
    for priority in (9, 10, -1, 0, 100, -100, 99):
        desk.push(f"p{priority}", priority=priority)
        desk.push(f"p{priority}-second", priority=priority)
    order = [task_id for task_id in desk.drain() if not task_id.endswith("second")]
    assert order == ["p100", "p99", "p10", "p9", "p0", "p-1", "p-100"]


def test_a_released_task_goes_before_the_others_of_its_priority(desk: Desk) -> None:
    desk.push("high", priority=1)
    desk.push("a", "b", "c")
    high, first, second = desk.claim(3)
    desk.settle(second, Outcome.RELEASE)
    desk.settle(first, Outcome.RELEASE)
    desk.settle(high, Outcome.RELEASE)
    assert desk.drain() == ["high", "a", "b", "c"]


def test_a_task_that_was_postponed_goes_behind_those_that_came_meanwhile(desk: Desk) -> None:
    desk.push("late", delay_ms=LATER_MS)
    desk.push("soon")
    desk.make_due("late")
    desk.tick()
    assert desk.drain() == ["soon", "late"]


def test_a_full_lane_does_not_starve_its_neighbour(desk: Desk) -> None:
    desk.broker.push([make(f"bulk{number}", lane="bulk") for number in range(10_000)])
    desk.push("single", lane="small")
    assert "single" in ids_of(desk.claim(2))
    desk.push("single2", lane="small")
    assert "single2" in ids_of(desk.claim(1) + desk.claim(1))
    desk.client.flushall()


def test_lanes_share_evenly_whatever_their_length(desk: Desk) -> None:
    for lane, count in (("one", 60), ("two", 40), ("three", 20)):
        desk.broker.push([make(f"{lane}{number}", lane=lane) for number in range(count)])
    started = Counter(lease.lane for _ in range(30) for lease in desk.claim(1))
    assert set(started.values()) == {10}
    started = Counter(lease.lane for lease in desk.claim(30))
    assert started == {"one": 10, "two": 10, "three": 10}
    assert Counter(lease.lane for lease in desk.claim(100)) == {"one": 40, "two": 20}


@pytest.mark.parametrize("want", [1, 8])
def test_a_lane_of_weight_three_starts_three_times_as_often(desk: Desk, want: int) -> None:
    desk.broker.lane(POOL, "heavy", weight=3)
    for lane in ("heavy", "light"):
        desk.broker.push([make(f"{lane}{number}", lane=lane) for number in range(200)])
    started: Counter[str] = Counter()
    while sum(started.values()) < 160:
        started.update(lease.lane for lease in desk.claim(want))
    assert started["heavy"] == pytest.approx(120, abs=8)


def test_a_new_lane_neither_waits_for_the_others_nor_holds_them_up(desk: Desk) -> None:
    desk.broker.push([make(f"old{number}", lane="old") for number in range(100)])
    desk.claim(50)
    desk.broker.push([make(f"new{number}", lane="new") for number in range(100)])
    started = Counter(lease.lane for _ in range(20) for lease in desk.claim(1))
    assert started["new"] == pytest.approx(10, abs=1)


def test_a_limit_is_never_exceeded(desk: Desk) -> None:
    rng = random.Random(7)
    desk.broker.lane(POOL, "narrow", limit=3)
    desk.broker.push([make(f"t{number}", lane="narrow", retries=9) for number in range(60)])
    desk.broker.push([make(f"u{number}") for number in range(20)])
    held: list[Lease] = []
    for _ in range(80):
        held += desk.claim(rng.randint(0, 6), rng.choice(["w1", "w2"]))
        assert sum(lease.lane == "narrow" for lease in held) <= 3
        rng.shuffle(held)
        ended = [held.pop() for _ in range(rng.randint(0, len(held)))]
        outcomes = [rng.choice([Outcome.SUCCESS, Outcome.ERROR, Outcome.RELEASE]) for _ in ended]
        desk.exchange(settle=[end(lease, outcome) for lease, outcome in zip(ended, outcomes, strict=True)])
        desk.check()


def test_a_slot_that_is_freed_is_taken_in_the_same_round_trip(desk: Desk) -> None:
    desk.broker.lane(POOL, "narrow", limit=1)
    desk.push("a", "b", lane="narrow")
    first = desk.exchange(want=5)
    assert (ids_of(first.leases), first.ready) == (["a"], False)
    second = desk.exchange(settle=[end(first.leases[0])], want=5)
    assert ids_of(second.leases) == ["b"]


@pytest.mark.parametrize("loss", ["expired", "recovered", "released", "cancelled", "replaced", "destroyed"])
def test_a_lost_lease_gives_its_slot_back(desk: Desk, loss: str) -> None:
    desk.broker.lane(POOL, "narrow", limit=1)
    desk.push("a", "b", lane="narrow", retries=5)
    lease = desk.lease()
    if loss == "destroyed":
        desk.client.delete(desk.keys.task("a"))
        desk.broken = desk.haunted = {"a"}
    {
        "expired": lambda: desk.expire("a"),
        "recovered": lambda: desk.broker.recover(POOL, "w1", {}),
        "released": lambda: desk.control("release", "a"),
        "cancelled": lambda: desk.settle(lease, Outcome.CANCEL),
        "replaced": lambda: desk.push("a", lane="other", conflict="replace"),
        "destroyed": lambda: desk.expire("a"),
    }[loss]()
    desk.check()
    assert len([each for each in desk.claim(5) if each.lane == "narrow"]) == 1


def test_a_limit_that_is_set_late_counts_what_runs(desk: Desk) -> None:
    desk.push("a", "b", "c", lane="x")
    leases = desk.claim(2)
    desk.broker.lane(POOL, "x", limit=2)
    assert desk.claim(5) == []
    desk.settle(leases[0])
    assert ids_of(desk.claim(5)) == ["c"]


def test_a_limit_below_what_runs_lets_nothing_start_until_enough_has_ended(desk: Desk) -> None:
    desk.push(*"abcde", lane="x")
    leases = desk.claim(3)
    desk.lowered.add("x")
    assert desk.broker.lane(POOL, "x", limit=1) == {}
    assert desk.broker.lane(POOL, "x", limit=2) == {"limit": "1"}
    for lease, expected in zip(leases, ([], ["d"], ["e"]), strict=True):
        desk.settle(lease)
        assert ids_of(desk.claim(5)) == expected


def test_without_its_limit_a_lane_is_free(desk: Desk) -> None:
    desk.broker.lane(POOL, "x", limit=1)
    desk.push(*"abc", lane="x")
    desk.claim(5)
    desk.broker.lane(POOL, "x", limit=None)
    assert ids_of(desk.claim(5)) == ["b", "c"]


def test_nothing_starts_from_a_paused_lane_and_what_runs_goes_on(desk: Desk) -> None:
    desk.push("a", "b", lane="x")
    lease = desk.lease()
    desk.broker.lane(POOL, "x", paused=1)
    desk.push("c", lane="x")
    desk.push("other")
    assert desk.settle(lease) == "OK"
    assert desk.drain() == ["other"]
    desk.check()
    assert desk.broker.lane(POOL, "x", paused=None) == {"paused": "1"}
    assert desk.drain() == ["b", "c"]


def test_a_move_changes_the_lane_at_once(desk: Desk) -> None:
    desk.broker.lane(POOL, "held", paused=1)
    desk.push("a", "b", lane="held")
    desk.control("move", "b", value="free")
    assert desk.drain() == ["b"]


def test_a_changed_priority_counts_at_once(desk: Desk) -> None:
    desk.push("a", "b")
    desk.control("priority", "b", value=10)
    assert desk.drain() == ["b", "a"]


def test_a_lane_may_have_any_name(desk: Desk) -> None:
    for lane in ("ready", "a:b", "task:x", "conf", "lanes:ready"):
        desk.push(f"id-{lane}", lane=lane)
    desk.check()
    assert len(desk.drain()) == 5


@pytest.mark.parametrize(("lane", "limited"), [("one", "one"), ("one", "default"), ("default", "default")])
def test_a_new_limit_does_not_count_a_lease_whose_record_is_lost(desk: Desk, lane: str, limited: str) -> None:
    desk.push("a", lane=lane)
    desk.lease()
    desk.push("b", lane=limited)
    desk.client.delete(desk.keys.task("a"))
    desk.broken.add("a")
    desk.broker.lane("default", limited, limit=1)  # nothing says any more in which lane it was
    assert desk.lease().id == "b"
    desk.make_due("a")
    desk.tick()
    assert desk.client.zscore(desk.keys.state("quarantined"), "a")
