"""Paused names: none of their tasks starts, the others go on, and each keeps its place until the name is resumed."""

from __future__ import annotations

import pytest

from queueops.errors.tasks import TooManyPausedNames
from queueops.model.contracts import Lease, Outcome
from queueops.redis import wire
from queueops.redis.broker import control
from tests.kernel.desk import POOL, Desk, end, ids_of, make
from tests.mapreduce.bench import ChunkDesk
from tests.support.monitoring import round_trips

BAD, GOOD = "tests.bad", "tests.good"
MANY = 1000
MOST_A_CALL = 300
"""So many tasks of a paused name a call moves at most: one part of 200, and what a claim holds back before it looks."""


def pause(desk: Desk, name: str = BAD) -> bool:
    return desk.broker.pause_name(POOL, name, paused=True)


def resume(desk: Desk, name: str = BAD) -> bool:
    return desk.broker.pause_name(POOL, name, paused=False)


def held(desk: Desk, name: str = BAD) -> list[str]:
    return [member.decode() for member in desk.client.zrange(desk.keys.held(name), 0, -1)]


@pytest.mark.parametrize("want", [1, 2, 8])
def test_tasks_of_a_paused_name_wait_and_the_others_of_the_lane_go_on(desk: Desk, want: int) -> None:
    for number in range(10):
        desk.push(f"bad{number}", name=BAD, lane="mail")
        desk.push(f"good{number}", name=GOOD, lane="mail")
    assert pause(desk) is False
    assert pause(desk) is True
    started: list[str] = []
    for _ in range(20):
        started += ids_of(desk.claim(want))
    assert started == [f"good{number}" for number in range(10)]
    assert desk.states("bad0", "bad9") == ["pending", "pending"]
    desk.check()


def test_resumed_tasks_start_in_the_order_that_they_had(desk: Desk) -> None:
    pause(desk)
    for number in range(5):
        desk.push(f"low{number}", name=BAD)
        desk.push(f"high{number}", name=BAD, priority=5)
    assert desk.claim(9) == []
    desk.push("later", name=GOOD)
    assert resume(desk) is True
    assert desk.drain() == [f"high{number}" for number in range(5)] + [f"low{number}" for number in range(5)] + [
        "later"
    ]


def test_a_name_is_paused_in_every_lane_and_with_every_sort_of_claim(desk: Desk) -> None:
    desk.broker.lane(POOL, "slots", limit=1)
    desk.broker.lane(POOL, "rated", rate=1000)
    for lane in ("default", "slots", "rated"):
        desk.push(f"bad-{lane}", name=BAD, lane=lane)
        desk.push(f"good-{lane}", name=GOOD, lane=lane)
    pause(desk)
    assert sorted(desk.drain()) == ["good-default", "good-rated", "good-slots"]
    desk.push("again", name=BAD)
    found = desk.exchange(want=4, idle=True, lanes=("*",)).leases
    assert found == []
    assert sorted(held(desk)) == ["again", "bad-default", "bad-rated", "bad-slots"]
    desk.check()


def test_a_push_is_not_handed_to_a_worker_that_waits(desk: Desk) -> None:
    desk.push("warm")
    desk.drain()
    pause(desk)
    for name, handed in ((BAD, False), (GOOD, True)):
        desk.client.zadd(desk.keys.idle, {"w1": desk.now() + 1000})
        desk.push(f"one-{name}", name=name)
        (token,) = desk.client.lrange(desk.keys.wake("w1"), 0, -1)
        desk.client.delete(desk.keys.wake("w1"))
        assert isinstance(wire.read_token(POOL, token), Lease) is handed
        assert desk.claim(5) == []  # it meets the paused one
    assert held(desk) == [f"one-{BAD}"]


def test_a_worker_that_settles_one_does_not_take_a_paused_one(desk: Desk) -> None:
    desk.push("first", name=GOOD)
    desk.push("bad", name=BAD)
    desk.push("next", name=GOOD)
    lease = desk.lease()
    pause(desk)
    found = desk.exchange(settle=[end(lease)], want=1)
    assert ids_of(found.leases) == ["next"]
    assert held(desk) == ["bad"]


@pytest.mark.parametrize(
    ("verb", "value", "state"),
    [
        ("cancel", "no", "cancelled"),
        ("postpone", "+60000", "postponed"),
        ("move", "other", "pending"),
        ("priority", "7", "pending"),
    ],
)
def test_an_operator_may_act_on_a_held_task(desk: Desk, verb: str, value: str, state: str) -> None:
    desk.push("bad", name=BAD)
    pause(desk)
    assert desk.claim(1) == []
    assert desk.told(verb, "bad", value=value) == "OK"
    assert held(desk) == []
    assert desk.state("bad") == state
    desk.check()
    assert desk.claim(1) == []
    resume(desk)
    assert desk.drain() == (["bad"] if state == "pending" else [])
    desk.check()


def test_a_running_task_ends_and_its_next_attempt_waits(desk: Desk) -> None:
    desk.push("bad", name=BAD, retries=3)
    lease = desk.lease()
    pause(desk)
    assert desk.settle(lease, Outcome.RELEASE) == "OK"
    assert desk.claim(1) == []
    assert held(desk) == ["bad"]


def test_very_many_tasks_are_held_and_brought_back_in_bounded_parts(desk: Desk) -> None:
    desk.broker.push([make(f"bad{number}", name=BAD) for number in range(MANY)])
    desk.push("good", name=GOOD)
    asked = round_trips(desk, lambda: pause(desk))
    assert held(desk) == []
    assert len(asked.inside) < 20
    parts: list[int] = []
    found: list[str] = []
    while not found:
        before = len(held(desk))
        asked = round_trips(desk, lambda: found.extend(ids_of(desk.claim(1))))
        parts.append(len(asked.inside))
        assert len(held(desk)) - before <= MOST_A_CALL
    assert found == ["good"]
    assert len(held(desk)) == MANY
    assert max(parts) < 1500
    parts.clear()
    asked = round_trips(desk, lambda: resume(desk))
    parts.append(len(asked.inside))
    while left := len(held(desk)):
        desk.check()
        desk.push(f"other{left}", name=GOOD, lane="other")
        assert ids_of(desk.exchange(want=1, lanes=("other",)).leases) == [f"other{left}"]
        returned = left - len(held(desk))
        asked = round_trips(desk, desk.tick)
        parts.append(len(asked.inside))
        assert max(returned, left - returned - len(held(desk))) <= MOST_A_CALL
    assert len(parts) >= MANY / MOST_A_CALL / 2
    assert max(parts) < 500
    assert len(desk.drain()) == MANY
    desk.client.flushall()


def test_a_name_that_is_paused_again_stops_the_return(desk: Desk) -> None:
    desk.broker.push([make(f"bad{number:03}", name=BAD) for number in range(450)])
    pause(desk)
    while len(held(desk)) < 450:
        desk.claim(1)
    resume(desk)
    pause(desk)
    desk.tick()
    assert len(held(desk)) == 250
    assert desk.claim(9) == []
    desk.check()
    resume(desk)
    for _ in range(5):
        desk.tick()
    assert desk.drain() == [f"bad{number:03}" for number in range(450)]


def test_chunks_of_a_paused_name_wait_with_their_second_runs(desk: Desk) -> None:
    chunks = ChunkDesk(desk.broker)
    chunks.push_mapped("m", 3, name=BAD)
    (first,) = chunks.claim(1)
    pause(desk)
    chunks.broker.mend_chunks(POOL, "m", "speculate", [int(first.id.partition("#")[2])])
    desk.push("good", name=GOOD)
    assert ids_of(desk.claim(9)) == ["good"]
    assert held(desk) == [f"{first.id}~"]
    resume(desk)
    assert sorted(ids_of(desk.claim(9, "w2"))) == sorted({f"{first.id}~", "m#0", "m#1", "m#2"} - {first.id})
    chunks.check()


def test_the_watchdog_writes_a_lost_clock_anew(desk: Desk) -> None:
    desk.push("bad", name=BAD)
    pause(desk)
    desk.client.delete(desk.keys.clock)
    desk.tick()
    assert desk.claim(1) == []
    assert held(desk) == ["bad"]


def test_the_check_finds_what_nothing_would_bring_back(desk: Desk) -> None:
    desk.push("bad", "ended", name=BAD)
    pause(desk)
    assert desk.claim(9) == []
    assert not desk.broker.check(POOL, "", repair=False).faults
    desk.client.hdel(f"{desk.keys.prefix}:names:paused", BAD)
    desk.tick()
    faults, after = [], ""
    while True:
        page = desk.broker.check(POOL, after, repair=True)
        faults += page.faults
        if not (after := page.next):
            break
    assert {(fault.id, fault.text) for fault in faults} == {
        ("bad", "it is ready, and not in its lane"),
        ("ended", "it is ready, and not in its lane"),
    }
    desk.check()
    assert sorted(desk.drain()) == ["bad", "ended"]


def test_a_pool_has_a_bounded_number_of_paused_names(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "MOST_PAUSED", 1)
    pause(desk)
    pause(desk)
    with pytest.raises(TooManyPausedNames, match=r"tests\.good is not paused: 1 other names of the pool default"):
        pause(desk, GOOD)
    resume(desk)
    assert pause(desk, GOOD) is False
