"""A task that is pushed or settled alone goes a shorter way through the function than a batch, and is as they are."""

from __future__ import annotations

from typing import Any

import pytest

from queueops.model.contracts import Exchange, Lease, Outcome, Push
from tests.kernel.conftest import MakeDesk
from tests.kernel.desk import POOL, Desk, end, make
from tests.support.monitoring import round_trips

SORTS: list[Any] = [
    pytest.param({}, id="plain"),
    pytest.param({"args": b"[[1],{}]", "retries": 4, "timeout_ms": 9000, "token": "t"}, id="with arguments"),
    pytest.param({"priority": 7}, id="urgent"),
    pytest.param({"priority": -7}, id="that can wait"),
    pytest.param({"lane": "mail"}, id="of a lane"),
    pytest.param({"lane": "narrow"}, id="of a lane with a limit"),
    pytest.param({"lane": "held"}, id="of a lane that is paused"),
    pytest.param({"tags": ("red",)}, id="with a tag"),
    pytest.param({"delay_ms": 9_000_000}, id="for later"),
]


def queued(desk: Desk, *ids: str, **fields: Any) -> list[Push]:
    """Push what is alike in one call."""
    pushes = [make(task_id, **fields) for task_id in ids]
    desk.broker.push(pushes)
    return pushes


def counted(desk: Desk) -> dict[str, int]:
    """All that is counted: by state, and in this minute and the one before."""
    found = {field.decode(): int(count) for field, count in desk.client.hgetall(desk.keys.counts).items()}
    return found | {field: desk.counted(field) for field in ("tr|>pending", "tr|>postponed", "in|tests.noop")}


@pytest.mark.parametrize("fields", SORTS)
def test_one_that_is_pushed_alone_is_as_those_of_a_batch(desk: Desk, fields: dict[str, Any]) -> None:
    desk.broker.lane(POOL, "narrow", limit=2)
    desk.broker.lane(POOL, "held", paused=1)
    queued(desk, "first", "second", **fields)
    before = counted(desk)
    queued(desk, "alone", **fields)
    after = counted(desk)
    queued(desk, "third", "fourth", **fields)
    (one, two) = (desk.client.hgetall(desk.keys.task(task_id)) for task_id in ("alone", "third"))
    assert {**one, b"u": b"", b"c": b"", b"d": b""} == {**two, b"u": b"", b"c": b"", b"d": b""}
    assert one.keys() == two.keys()
    assert {field: after[field] - before[field] for field in after} == {field: before[field] / 2 for field in after}
    desk.check()
    desk.broker.lane(POOL, "held", paused=0)
    assert desk.drain() == ([] if "delay_ms" in fields else ["first", "second", "alone", "third", "fourth"])


def test_one_that_is_pushed_alone_while_somebody_watches_is_told_of(desk: Desk) -> None:
    queued(desk, "first", "second")
    desk.client.set(desk.keys.tail, "1", ex=60)
    with desk.client.pubsub() as watcher:
        watcher.subscribe(desk.keys.events)
        assert watcher.get_message(timeout=60)["type"] == "subscribe"
        queued(desk, "alone")
        assert b'"id":"alone"' in watcher.get_message(timeout=60)["data"]


def test_one_whose_id_is_that_of_a_lost_record_leaves_quarantine(desk: Desk) -> None:
    queued(desk, "lost")
    desk.client.delete(desk.keys.task("lost"))
    assert desk.drain() == []
    assert desk.client.zcard(desk.keys.state("quarantined")) == 1
    queued(desk, "first", "second")
    queued(desk, "lost")
    assert desk.client.zcard(desk.keys.state("quarantined")) == 0
    assert desk.drain() == ["first", "second", "lost"]


def test_a_lost_record_does_not_slow_down_the_pushes_of_others(desk: Desk) -> None:
    queued(desk, "lost")
    desk.client.delete(desk.keys.task("lost"))
    assert desk.drain() == []
    desk.broken.add("lost")
    queued(desk, "first", "second")
    asked = round_trips(desk, lambda: queued(desk, "alone"))
    assert len(asked.inside) <= 14, asked
    assert desk.drain() == ["first", "second", "alone"]


# Settled alone: by a worker that has nothing else to do, while nothing is ready.


def settled(desk: Desk, lease: Lease, *, alone: bool, **values: Any) -> Exchange:
    """One round trip of an idle worker; a metric, which it carries now and then, asks for the long way."""
    carried = {"metrics": {} if alone else {"ok|tests.noop": 1}}
    return desk.exchange("w1", settle=[end(lease, **values)], idle=True, want=4, **carried)


def swapped(desk: Desk, lease: Lease, *, alone: bool) -> Exchange:
    """The same for a worker that asks for one more."""
    return desk.exchange("w1", settle=[end(lease)], want=1, metrics={} if alone else {"ok|tests.noop": 1})


def flows(desk: Desk) -> dict[str, int]:
    """All that is counted of tasks that end."""
    found = {field.decode(): int(count) for field, count in desk.client.hgetall(desk.keys.counts).items()}
    return found | {"tr": desk.counted("tr|locked>succeeded")}


def gain(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """By how much each count has changed."""
    changes = {field: after.get(field, 0) - before.get(field, 0) for field in {*before, *after}}
    return {field: change for field, change in changes.items() if change}


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("weight", [None, 3])
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"args": b"[[1],{}]", "retries": 4},
        {"lane": "mail"},
        {"lane": "narrow", "keep_ms": 5000},
        {"lane": "slow"},
        {"lane": "limited"},
        {"keep_ms": 5000},
    ],
    ids=str,
)
def test_one_that_is_settled_alone_is_as_one_that_is_settled_with_more(
    desk: Desk, fields: dict[str, Any], weight: int | None, awaited: bool
) -> None:
    desk.broker.lane(POOL, "narrow", limit=4)
    desk.broker.lane(POOL, "slow", rate=5)
    if weight:
        desk.broker.lane(POOL, "default", weight=weight)
    desk.push("later", delay_ms=9_000_000)
    desk.push("alone", "other", **fields)
    leases = {lease.id: lease for lease in desk.claim(2)}
    if fields.get("lane") == "limited":
        desk.broker.lane(POOL, "limited", limit=1)
    for task_id in leases if awaited else ():
        assert desk.broker.wait(POOL, task_id) == "locked"
    begun = flows(desk)
    long = settled(desk, leases["other"], alone=False, value=b"[1]")
    between = flows(desk)
    short = settled(desk, leases["alone"], alone=True, value=b"[1]")
    assert gain(between, flows(desk)) == gain(begun, between)
    (one, two) = (desk.client.hgetall(desk.keys.task(task_id)) for task_id in ("alone", "other"))
    own = dict.fromkeys((b"u", b"f", b"e", b"c", b"b"), b"")
    assert {**one, **own} == {**two, **own}
    kept = {task_id: desk.client.zscore(desk.keys.agenda, task_id) for task_id in ("alone", "other")}
    assert kept["alone"] - int(one[b"e"]) == kept["other"] - int(two[b"e"])
    assert abs(short.sleep_ms - long.sleep_ms) < 1000
    assert (short.settled, short.leases, short.commands, short.ready) == (["OK"], [], [], False)
    assert desk.client.zscore(desk.keys.idle, "w1") == short.now_ms + short.sleep_ms
    desk.lowered.add("limited")
    desk.check()


@pytest.mark.parametrize("alone", [True, False])
def test_a_worker_wakes_when_what_it_settled_expires(make_desk: MakeDesk, alone: bool) -> None:
    desk = make_desk(retention={"succeeded": 5.0, "failed": 20.0, "cancelled": 20.0})
    desk.push("a")
    assert settled(desk, desk.lease(), alone=alone).sleep_ms == 5000


@pytest.mark.parametrize("alone", [True, False])
def test_a_result_that_is_not_kept_is_gone_at_once(make_desk: MakeDesk, alone: bool) -> None:
    desk = make_desk(retention={"succeeded": 0.0, "failed": 20.0, "cancelled": 20.0})
    desk.push("a")
    assert settled(desk, desk.lease(), alone=alone).sleep_ms == 10_000
    assert desk.state("a") == ""


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("more", [True, False])
def test_a_clock_that_was_set_back_is_seen_before_the_agenda(desk: Desk, more: bool, alone: bool) -> None:
    desk.broker.lane(POOL, "slow", rate=0.001)
    desk.push("slow", "slower", lane="slow")
    assert desk.settle(desk.lease()) == "OK"  # the lane waits for its next token
    desk.push("a")
    lease = desk.lease()
    if more:
        desk.push("b")
    desk.client.hset(desk.keys.clock, "beat", desk.now() + 3_600_000)
    reply = settled(desk, lease, alone=alone) if not more else swapped(desk, lease, alone=alone)
    assert [each.id for each in reply.leases] == (["b"] if more else [])
    assert desk.client.zscore(desk.keys.agenda, "~lane:slow") > reply.now_ms


@pytest.mark.parametrize("alone", [True, False])
def test_the_lease_that_ends_does_not_shorten_the_sleep(desk: Desk, alone: bool) -> None:
    desk.push("a")
    lease = desk.lease()
    desk.client.zadd(desk.keys.agenda, {"a": desk.now() + 5000})
    assert settled(desk, lease, alone=alone).sleep_ms == 10_000


@pytest.mark.parametrize("alone", [True, False])
def test_what_comes_due_is_run_by_the_call_that_settles(desk: Desk, alone: bool) -> None:
    desk.push("a")
    lease = desk.lease()
    desk.push("b", delay_ms=9_000_000)
    desk.make_due("b")
    reply = settled(desk, lease, alone=alone)
    assert (reply.settled, [each.id for each in reply.leases]) == (["OK"], ["b"])


@pytest.mark.parametrize("alone", [True, False])
def test_what_is_ready_is_claimed_by_the_call_that_settles(desk: Desk, alone: bool) -> None:
    desk.push("a", "b")
    reply = settled(desk, desk.lease(), alone=alone)
    assert (reply.settled, [each.id for each in reply.leases]) == (["OK"], ["b"])


@pytest.mark.parametrize("alone", [True, False])
def test_a_lease_that_was_lost_or_settled_is_refused(desk: Desk, alone: bool) -> None:
    desk.push("a", "b")
    first, second = desk.claim(2)
    assert settled(desk, first, alone=alone).settled == ["OK"]
    assert settled(desk, first, alone=alone).settled == ["REPEAT"]
    desk.expire(second.id)
    assert desk.lease("w2").id == second.id
    assert settled(desk, second, alone=alone).settled == ["STALE"]
    assert settled(desk, Lease(id="nothing", fence=1), alone=alone).settled == ["GONE"]
    assert desk.state("b") == "locked"


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("outcome", [Outcome.ERROR, Outcome.CANCEL, Outcome.RESTART])
def test_another_outcome_has_its_own_effect(desk: Desk, outcome: Outcome, alone: bool) -> None:
    desk.push("a")
    settled(desk, desk.lease(), alone=alone, outcome=outcome, value=b"why", delay_ms=-1, counted=True)
    assert desk.state("a") == {Outcome.ERROR: "failed", Outcome.CANCEL: "cancelled", Outcome.RESTART: "failed"}[outcome]
    desk.check()


def test_the_end_of_a_task_is_told_while_a_page_follows_the_events(desk: Desk) -> None:
    desk.push("a")
    lease = desk.lease()
    desk.client.set(desk.keys.tail, "1", ex=60)
    with desk.client.pubsub() as watcher:
        watcher.subscribe(desk.keys.events)
        assert watcher.get_message(timeout=60)["type"] == "subscribe"
        settled(desk, lease, alone=True)
        assert b'"to":"succeeded"' in watcher.get_message(timeout=60)["data"]


@pytest.mark.parametrize("alone", [True, False])
def test_a_caller_that_waits_is_told_of_the_end(desk: Desk, alone: bool) -> None:
    desk.push("a")
    lease = desk.lease()
    assert desk.broker.wait(desk.pool, "a") == "locked"
    with desk.client.pubsub() as caller:
        caller.subscribe(desk.keys.task("a") + "#done")
        assert caller.get_message(timeout=60)["type"] == "subscribe"
        settled(desk, lease, alone=alone)
        assert caller.get_message(timeout=60)["data"] == b"succeeded"


@pytest.mark.parametrize("alone", [True, False])
def test_the_pool_is_seen_alive_by_each_call(desk: Desk, alone: bool) -> None:
    desk.push("a")
    lease = desk.lease()
    desk.client.hset(desk.keys.clock, "beat", desk.now() - 1000)
    reply = settled(desk, lease, alone=alone)
    assert int(desk.client.hget(desk.keys.clock, "beat")) >= reply.now_ms - 1
