"""A worker settles one task and claims the next one in one call, by a shorter way where both tasks are plain."""

from __future__ import annotations

from typing import Any

import pytest

from queueops.model.contracts import Exchange, Lease, Outcome
from tests.kernel.conftest import MakeDesk
from tests.kernel.desk import POOL, Desk, end


def swapped(desk: Desk, lease: Lease, *, alone: bool, worker: str = "w1") -> Exchange:
    """One round trip that settles one task and asks for the next one; a metric asks for the long way."""
    carried = {"metrics": {} if alone else {"ok|tests.noop": 1}}
    return desk.exchange(worker, settle=[end(lease, value=b"[1]")], idle=True, want=1, **carried)


def claims(desk: Desk) -> int:
    """How many tasks were claimed in this minute and the one before."""
    return sum(desk.counted(f"tr|pending>{state}") for state in ("locked", "mapping"))


def make_again(desk: Desk) -> None:
    """A task that was claimed before, and is ready again."""
    desk.push("b")
    desk.expire(desk.lease("w3").id)
    desk.client.hset(desk.keys.task("b"), "c", desk.now() - 5000)


def lose_one(desk: Desk) -> None:
    """A task whose record was lost is in quarantine."""
    desk.push("lost", priority=9)
    desk.client.delete(desk.keys.task("lost"))
    assert desk.claim(1, "w3") == []
    assert desk.client.zscore(desk.keys.state("quarantined"), "lost")
    desk.broken.add("lost")


COMING: list[Any] = [
    pytest.param(lambda desk: desk.push("b"), id="one"),
    pytest.param(lambda desk: desk.push("b", "c"), id="more"),
    pytest.param(lambda desk: desk.push("b", name="tests.other"), id="of another name"),
    pytest.param(lambda desk: desk.push("b", args=b"[[1],{}]", retries=3, timeout_ms=9000), id="with arguments"),
    pytest.param(make_again, id="that was claimed before"),
    pytest.param(lambda desk: desk.push("b", keep_ms=5000), id="that is kept for a time of its own"),
    pytest.param(lambda desk: desk.push("b", kind="mapreduce"), id="of a kind"),
    pytest.param(lambda desk: desk.push("b", lane="mail"), id="of another lane"),
    pytest.param(lambda desk: [desk.push("c", lane="mail"), desk.push("b")], id="of two lanes"),
    pytest.param(lambda desk: [desk.push("c"), desk.push("b", priority=5)], id="by priority"),
    pytest.param(lambda desk: [desk.push("b", lane="mail"), desk.push("c", lane="mail")], id="two of another lane"),
    pytest.param(lambda desk: [desk.push("b"), desk.broker.wait(POOL, "b")], id="that a caller waits for"),
    pytest.param(lambda desk: [desk.broker.lane(POOL, "mail", limit=1), desk.push("b", lane="mail")], id="with a slot"),
    pytest.param(lambda desk: [desk.broker.lane(POOL, "mail", rate=1), desk.push("b", lane="mail")], id="with a token"),
    pytest.param(lambda desk: [desk.broker.lane(POOL, "default", weight=2), desk.push("b", "c")], id="by weight"),
    pytest.param(lambda desk: [lose_one(desk), desk.push("b", "c")], id="beside a task in quarantine"),
]


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("push", COMING)
def test_one_that_is_settled_makes_room_for_the_next(desk: Desk, push: Any, alone: bool) -> None:
    desk.push("later", delay_ms=9_000_000)
    desk.push("a")
    lease = desk.lease()
    push(desk)
    begun, created = claims(desk), desk.client.hget(desk.keys.task("b"), "c")
    reply = swapped(desk, lease, alone=alone)
    assert (reply.settled, [each.id for each in reply.leases]) == (["OK"], ["b"])
    (coming,) = reply.leases
    record = desk.record("b")
    assert (record.worker, record.fence) == ("w1", coming.fence)
    assert record.created <= record.begun == reply.now_ms
    assert created is None or record.created == int(created)
    assert desk.counted("ok|tests.noop") == (not alone)
    assert desk.client.zscore(desk.keys.agenda, "b") - reply.now_ms == desk.broker.settings.lease * 1000
    assert reply.ready is bool(desk.state("c"))
    assert claims(desk) == begun + 1
    assert desk.client.zcard(desk.keys.idle) == 0
    assert desk.client.zcard(desk.keys.lanes_ready) == reply.ready
    assert (desk.state("a"), coming.args) == ("succeeded", record.args or b"")
    desk.check()
    assert desk.settle(coming) == "OK"
    assert desk.drain() == (["c"] if reply.ready else [])


@pytest.mark.parametrize("alone", [True, False])
def test_the_next_one_has_waited_since_it_came(desk: Desk, alone: bool) -> None:
    desk.push("a")
    lease = desk.lease()
    desk.push("b")
    desk.client.zadd(desk.keys.state("pending"), {"b": desk.now() - 5000})
    reply = swapped(desk, lease, alone=alone)
    assert 5000 <= reply.leases[0].wait_ms < 60_000
    assert desk.record("b").created == reply.now_ms - reply.leases[0].wait_ms


@pytest.mark.parametrize("alone", [True, False])
def test_a_worker_that_waits_is_woken_for_what_is_left(desk: Desk, alone: bool) -> None:
    desk.push("a")
    lease = desk.lease()
    desk.push("b", "c")
    for worker in ("w1", "w2"):
        desk.client.zadd(desk.keys.idle, {worker: desk.now() + 60_000})
    assert [each.id for each in swapped(desk, lease, alone=alone).leases] == ["b"]
    assert desk.client.lrange(desk.keys.wake("w2"), 0, -1) == [b"work"]
    assert desk.client.zcard(desk.keys.idle) == 0


@pytest.mark.parametrize("alone", [True, False])
def test_what_is_due_comes_before_what_a_lane_gives(desk: Desk, alone: bool) -> None:
    desk.push("a")
    lease = desk.lease()
    desk.push("b")
    desk.push("due", delay_ms=9_000_000, priority=9)
    desk.make_due("due")
    assert [each.id for each in swapped(desk, lease, alone=alone).leases] == ["due"]


@pytest.mark.parametrize("alone", [True, False])
def test_a_lost_lease_is_refused_and_the_next_task_claimed(desk: Desk, alone: bool) -> None:
    desk.push("a")
    lease = desk.lease()
    desk.expire("a")
    assert desk.lease("w2").id == "a"
    desk.push("b", "c")
    reply = swapped(desk, lease, alone=alone)
    assert (reply.settled, [each.id for each in reply.leases]) == (["STALE"], ["b"])
    assert desk.state("a") == "locked"


def lose(desk: Desk) -> None:
    desk.client.delete(desk.keys.task("b"))


def spoil(desk: Desk) -> None:
    lose(desk)
    desk.client.set(desk.keys.task("b"), "garbage")


def strip(desk: Desk) -> None:
    desk.client.hdel(desk.keys.task("b"), "n")


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("harm", [lose, spoil, strip])
def test_a_next_one_without_a_record_is_put_aside(desk: Desk, harm: Any, alone: bool) -> None:
    desk.push("a")
    lease = desk.lease()
    desk.push("b")
    harm(desk)
    reply = swapped(desk, lease, alone=alone)
    assert (reply.settled, reply.leases) == (["OK"], [])
    assert desk.client.zcard(desk.keys.state("quarantined")) == 1
    desk.broken.add("b")
    lose(desk)


@pytest.mark.parametrize("alone", [True, False])
def test_a_task_that_runs_is_not_given_out_again(desk: Desk, alone: bool) -> None:
    desk.push("a", "b", "c")
    lease, running = desk.claim(2)
    desk.client.zadd(desk.keys.lane("default"), {running.id: 0})
    assert [each.id for each in swapped(desk, lease, alone=alone).leases] == ["c"]
    assert desk.settle(running) == "OK"


@pytest.mark.parametrize("alone", [True, False])
def test_a_task_that_its_state_has_lost_is_claimed(desk: Desk, alone: bool) -> None:
    desk.push("a")
    lease = desk.lease()
    desk.push("b")
    desk.client.zrem(desk.keys.state("pending"), "b")
    reply = swapped(desk, lease, alone=alone)
    assert [(each.id, each.wait_ms) for each in reply.leases] == [("b", 0)]
    assert desk.record("b").created == reply.now_ms


def test_a_ready_lane_without_a_task_stops_no_settlement(desk: Desk) -> None:
    desk.push("a")
    lease = desk.lease()
    desk.client.zadd(desk.keys.lanes_ready, {"default": 0})
    reply = swapped(desk, lease, alone=True)
    assert (reply.settled, reply.leases) == (["OK"], [])


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("weight", [1, 4])
@pytest.mark.parametrize("lane", ["default", "mail"])
def test_the_lane_has_had_its_turn(desk: Desk, lane: str, weight: int, alone: bool) -> None:
    if weight > 1:
        desk.broker.lane(POOL, lane, weight=weight)
    desk.push("a")
    lease = desk.lease()
    desk.push("b", "c", lane=lane)
    turn = desk.client.zscore(desk.keys.lanes_ready, lane)
    swapped(desk, lease, alone=alone)
    assert desk.client.zscore(desk.keys.lanes_ready, lane) == turn + 1 / weight


@pytest.mark.parametrize("alone", [True, False])
def test_two_lanes_take_turns(desk: Desk, alone: bool) -> None:
    desk.push("a")
    lease, order = desk.lease(), ""
    desk.push(*"bcd")
    desk.push(*"xyz", lane="mail")
    for _ in range(6):
        (lease,) = swapped(desk, lease, alone=alone).leases
        order += lease.id
    assert order in ("bxcydz", "xbyczd")


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize(("kept", "due_ms", "sleep_ms"), [(0.5, 3000, 500), (9.0, 900, 900)])
def test_a_worker_that_goes_on_knows_when_the_agenda_has_something(
    make_desk: MakeDesk, kept: float, due_ms: int, sleep_ms: int, alone: bool
) -> None:
    desk = make_desk(retention={"succeeded": kept, "failed": 20.0, "cancelled": 20.0})
    desk.push("a")
    lease = desk.lease()
    desk.push("b")
    desk.push("later", delay_ms=due_ms)
    assert sleep_ms - 200 < swapped(desk, lease, alone=alone).sleep_ms <= sleep_ms


@pytest.mark.parametrize("alone", [True, False])
def test_a_next_one_that_the_worker_does_not_know_is_left_to_another(desk: Desk, alone: bool) -> None:
    desk.broker.beat(POOL, "w2", {"state": "live"})
    desk.push("strange", name="tests.strange")
    assert desk.settle(desk.lease(), Outcome.UNKNOWN, delay_ms=100) == "OK"
    assert desk.state("strange") == "pending"
    desk.push("a", priority=9)
    lease = desk.lease()
    assert lease.id == "a"
    assert swapped(desk, lease, alone=alone).leases == []
    assert desk.state("strange") == "pending"


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("conf", [{"paused": 1}, {"limit": 1}])
def test_the_settings_of_the_lane_hold_for_the_next_one(desk: Desk, conf: dict[str, Any], alone: bool) -> None:
    desk.push("a", "b", "c")
    lease, _ = desk.claim(2)
    desk.broker.lane(POOL, "default", **conf)
    assert swapped(desk, lease, alone=alone).leases == []
