"""A worker with patterns of lanes takes tasks of matching lanes only, and disturbs no other worker."""

from __future__ import annotations

from argparse import ArgumentTypeError

import pytest

from queueops import control, inspect
from queueops.management.arguments import lane_pattern
from queueops.model.contracts import Outcome, RoundTrip, Settlement
from queueops.redis.broker import get_broker
from queueops.worker.loop.matching_lanes import MatchingLanes
from tests.kernel.desk import Desk
from tests.support.for_each import for_each


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


def claim(desk: Desk, *patterns: str, want: int = 10, **more: object) -> list[str]:
    trip = RoundTrip(want=want, lanes=patterns, **more)  # type: ignore[arg-type]
    return [lease.id for lease in desk.broker.exchange("default", "w1", trip).leases]


def test_tasks_of_other_lanes_stay_there(desk: Desk) -> None:
    for lane in ("default", "to:a.example", "to:b.example", "aggr:to:"):
        desk.push(f"in {lane}".replace(" ", "/"), lane=lane)
    assert sorted(claim(desk, "to:*")) == ["in/to:a.example", "in/to:b.example"]
    assert claim(desk, "to:*") == []
    assert sorted(claim(desk)) == ["in/aggr:to:", "in/default"]
    desk.check()


@pytest.mark.parametrize(
    ("pattern", "taken"),
    [("mail", ["mail"]), ("*ail", ["mail"]), ("m.il", []), ("mail*", ["mail", "mail-2"]), ("*", ["mail", "mail-2"])],
)
def test_a_star_stands_for_any_characters_and_all_else_for_itself(desk: Desk, pattern: str, taken: list[str]) -> None:
    for lane in ("mail", "mail-2"):
        desk.push(lane, lane=lane)
    assert sorted(claim(desk, pattern)) == taken


def test_several_patterns_and_the_fair_round_over_their_lanes(desk: Desk) -> None:
    for number in range(6):
        for lane in ("to:a", "to:b", "mail", "other"):
            desk.push(f"{lane}.{number}", lane=lane)
    taken = claim(desk, "to:*", "mail", want=6)
    assert sorted(id.partition(".")[0] for id in taken) == ["mail", "mail", "to:a", "to:a", "to:b", "to:b"]


def test_lanes_that_match_are_found_behind_many_others(desk: Desk) -> None:
    for number in range(1200):
        desk.push(f"o{number}", lane=f"aggr:{number}")
    desk.push("mine", lane="to:a")
    assert claim(desk, "to:*") == ["mine"]


def test_a_worker_that_has_met_lanes_looks_at_these_alone_if_many_are_ready(desk: Desk) -> None:
    desk.push("known", lane="to:a")
    desk.push("new", lane="to:b")
    assert claim(desk, "to:*", want=1, met=["to:a"]) == ["known"]
    for number in range(1200):
        desk.push(f"o{number}", lane=f"aggr:{number}")
    desk.push("again", lane="to:a")
    assert claim(desk, "to:*", met=["to:a", "to:gone"]) == ["again"]
    assert claim(desk, "to:*") == ["new"]


def test_a_worker_remembers_the_lanes_of_its_tasks_and_looks_at_all_once_a_second(desk: Desk) -> None:
    for number in range(250):
        desk.push(f"t{number}", lane=f"to:{number}")
    lanes = MatchingLanes(("to:*",))
    lanes.take(desk.claim(250))
    assert (list(lanes.met(10.0)), len(lanes.met(10.5)), list(lanes.met(11.1))) == ([], 200, [])
    everything = MatchingLanes(())
    everything.take(desk.claim())
    assert list(everything.met(10.5)) == []


def served(lanes: MatchingLanes, now: float) -> tuple[str, ...]:
    """The patterns of a claim, as a pool's client has them: it asks when the time has come."""
    if now >= lanes.ask_at:
        lanes.ask(now)
    return lanes.served


@pytest.mark.parametrize(
    ("patterns", "taken"),
    [
        (("^aggr:*",), ["default", "mail", "to:a"]),
        (("^aggr:*", "^to:*"), ["default", "mail"]),
        (("^*",), []),
        (("to:*", "aggr:*", "^aggr:*"), ["to:a"]),
        (("aggr:*", "^aggr:*"), []),
    ],
)
def test_lanes_that_are_closed_to_a_worker_are_left_alone(
    desk: Desk, patterns: tuple[str, ...], taken: list[str]
) -> None:
    for lane in ("default", "mail", "to:a", "aggr:a", "aggr:b"):
        desk.push(lane.replace(":", "-"), lane=lane)
    assert sorted(claim(desk, *patterns)) == [lane.replace(":", "-") for lane in taken]
    assert len(claim(desk)) == 5 - len(taken)
    desk.check()


def test_a_task_that_comes_to_a_closed_lane_is_not_leased_by_a_settlement(desk: Desk) -> None:
    desk.push("first")
    desk.push("next", lane="aggr:a")
    closed = ("^aggr:*",)
    (lease,) = desk.broker.exchange("default", "w1", RoundTrip(want=1, lanes=closed)).leases
    end = Settlement(id=lease.id, fence=lease.fence, outcome=Outcome.SUCCESS, value=b"1")
    reply = desk.broker.exchange("default", "w1", RoundTrip(want=1, settle=[end], lanes=closed))
    assert (lease.id, reply.settled, reply.leases, reply.ready) == ("first", ["OK"], [], False)


def test_what_kinds_close_is_asked_for_once_a_second() -> None:
    closed: list[str] = []
    asked: list[str] = []

    def ask(pool: str) -> tuple[str, ...]:
        asked.append(pool)
        return tuple(f"{each}:{pool}" for each in closed)

    lanes = MatchingLanes(("to:*",), pool="default", closed=[ask])
    assert [served(lanes, at) for at in (10.0, 10.5, 10.9)] == [("to:*",)] * 3
    assert asked == ["default"]
    closed.append("aggr")
    assert [served(lanes, at) for at in (11.0, 11.9)] == [("to:*", "^aggr:default")] * 2
    closed.clear()
    assert served(lanes, 12.0) == ("to:*",)
    assert asked == ["default"] * 3


def test_a_kind_that_cannot_tell_closes_nothing() -> None:
    def fail(pool: str) -> tuple[str, ...]:
        raise OSError("the disk is gone")

    assert served(MatchingLanes((), pool="default", closed=[fail, lambda pool: ("a",)]), 10.0) == ("^a",)


def test_limits_and_pauses_hold_for_such_a_worker(desk: Desk) -> None:
    for number in range(4):
        desk.push(f"a{number}", lane="to:a")
        desk.push(f"b{number}", lane="to:b")
    control.set_lane("default", "to:a", limit=1)
    control.pause_lane("default", "to:b")
    assert claim(desk, "to:*") == ["a0"]
    desk.check()


def test_a_settlement_leases_it_no_task_of_another_lane(desk: Desk) -> None:
    desk.push("first", lane="to:a")
    desk.push("next")
    trip = RoundTrip(want=1, lanes=("to:*",))
    (lease,) = desk.broker.exchange("default", "w1", trip).leases
    end = Settlement(id=lease.id, fence=lease.fence, outcome=Outcome.SUCCESS, value=b"1")
    reply = desk.broker.exchange("default", "w1", RoundTrip(want=1, settle=[end], lanes=("to:*",)))
    assert (reply.settled, reply.leases) == (["OK"], [])
    assert claim(desk) == ["next"]


def test_no_wake_up_token_is_spent_on_it(desk: Desk) -> None:
    reply = desk.broker.exchange("default", "w1", RoundTrip(want=1, idle=True, lanes=("to:*",)))
    assert 0 < reply.sleep_ms <= 250
    desk.broker.exchange("default", "w2", RoundTrip(want=1, idle=True))
    keys = desk.broker.keys("default")
    assert desk.broker.client.zrange(keys.idle, 0, -1) == [b"w2"]
    desk.push("x")
    assert desk.broker.client.llen(keys.wake("w2")) == 1
    assert desk.broker.client.llen(keys.wake("w1")) == 0


def test_why_says_that_no_worker_serves_the_lane(desk: Desk) -> None:
    desk.push("mine", lane="to:a.example")
    desk.push("other", lane="mail")
    desk.broker.beat("default", "w1", {"slots": 4, "state": "live", "lanes": "aggr:*,to:*"})
    told = [finding.text for finding in inspect.why("other")]
    assert "No live worker serves the lane mail: each was started with other --lanes." in told
    told = [finding.text for finding in inspect.why("mine")]
    assert "Live workers serve the pool default." in told
    desk.broker.beat("default", "w2", {"slots": 4, "state": "live"})
    assert "Live workers serve the pool default." in [finding.text for finding in inspect.why("other")]


@for_each("wrong", ["", "to *", "to,*", "t?", "x" * 101])
def test_a_text_that_is_no_pattern_is_refused(wrong: str) -> None:
    with pytest.raises(ArgumentTypeError, match="not a pattern of lanes"):
        lane_pattern(wrong)
