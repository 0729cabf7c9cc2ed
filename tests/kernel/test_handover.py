"""A task that is pushed alone goes straight to a worker that waits, and what becomes of it when that worker is gone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from queueops.model.contracts import Conflict, Lease, Outcome
from queueops.redis import wire
from tests.kernel.desk import POOL, Desk, end, make

LATER_MS = 5_000_000


def rest(desk: Desk, worker: str = "w1") -> None:
    """This worker has nothing to do."""
    assert desk.exchange(worker, want=4, idle=True).leases == []


def token(desk: Desk, worker: str = "w1") -> str | Lease:
    """What this worker was woken with; nothing else woke it."""
    (found,) = desk.client.lrange(desk.keys.wake(worker), 0, -1)
    desk.client.delete(desk.keys.wake(worker))
    return wire.read_token(POOL, found)


def handed(desk: Desk, task_id: str = "a", **fields: Any) -> Lease:
    """Push a task to a worker that waits; the lease that comes with its token."""
    rest(desk)
    desk.push(task_id, **fields)
    found = token(desk)
    assert isinstance(found, Lease), found
    return found


def test_a_worker_that_waits_is_woken_with_the_task_itself(desk: Desk) -> None:
    rest(desk)
    (pushed,) = desk.push(
        "a", args=b'[["\xc3\xa9 \\r\\n"],{}]', retries=2, priority=7, lane="mail", timeout_ms=9000, token="t"
    )
    lease = token(desk)
    assert isinstance(lease, Lease)
    assert 0 <= desk.now() - lease.handed_ms < 60_000
    record = desk.record("a")
    assert (record.state, record.worker, record.fence) == ("locked", "w1", lease.fence)
    assert (lease.id, lease.uid, lease.name, lease.args) == ("a", pushed.uid, "tests.noop", b'[["\xc3\xa9 \\r\\n"],{}]')
    assert (lease.lane, lease.priority, lease.retries, lease.timeout_ms, lease.attempt) == ("mail", 7, 2, 9000, 1)
    assert desk.client.zcard(desk.keys.idle) == 0
    assert desk.claim(4, "w2") == []
    assert desk.settle(lease) == "OK"
    assert (desk.state("a"), desk.record("a").created) == ("succeeded", lease.handed_ms)


def test_of_those_who_wait_the_last_one_gets_it_and_the_others_sleep_on(desk: Desk) -> None:
    rest(desk, "w1")
    desk.client.zadd(desk.keys.idle, {"w2": desk.now() + 60_000})
    desk.push("a")
    assert isinstance(token(desk, "w2"), Lease)
    assert desk.client.zrange(desk.keys.idle, 0, -1) == [b"w1"]
    desk.push("b")
    assert isinstance(token(desk, "w1"), Lease)
    desk.push("c")
    assert desk.states("a", "b", "c") == ["locked", "locked", "pending"]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"lane": "narrow"}, id="its lane has a limit"),
        pytest.param({"lane": "slow"}, id="its lane has a rate"),
        pytest.param({"lane": "held"}, id="its lane is paused"),
        pytest.param({"delay_ms": LATER_MS}, id="it is for later"),
        pytest.param({"kind": "mapreduce", "lane": "narrow"}, id="it has a kind, and its lane has a limit"),
        pytest.param({"kind": "mapreduce", "args": b'[["\0"],{}]'}, id="it has a kind, and a zero byte"),
        pytest.param({"tags": ("red",), "args": b"[[" + b"1," * 10_000 + b"1],{}]"}, id="it has tags, and is large"),
        pytest.param({"args": b"[[" + b"1," * 10_000 + b"1],{}]"}, id="it is large"),
        pytest.param({"args": b'[["\0"],{}]'}, id="its arguments have a zero byte"),
        pytest.param({"name": "tests.\0noop"}, id="its name has a zero byte"),
    ],
)
def test_a_task_that_is_not_plain_goes_through_its_lane(desk: Desk, fields: dict[str, Any]) -> None:
    desk.broker.lane(POOL, "narrow", limit=5)
    desk.broker.lane(POOL, "slow", rate=5)
    desk.broker.lane(POOL, "held", paused=1)
    rest(desk)
    desk.push("a", **fields)
    assert desk.state("a") in ("pending", "postponed")
    assert desk.client.lrange(desk.keys.wake("w1"), 0, -1) in ([b"work"], [])


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        pytest.param({"kind": "mapreduce"}, "mapping", id="it is of a kind of its own"),
        pytest.param({"tags": ("red", "blue"), "lane": "mail"}, "locked", id="it has tags, and a lane"),
    ],
)
def test_a_task_with_a_kind_or_tags_is_handed_over_with_all_its_indexes(
    desk: Desk, fields: dict[str, Any], state: str
) -> None:
    lease = handed(desk, **fields)
    assert (desk.state("a"), lease.tags, lease.fence) == (state, fields.get("tags", ()), desk.record("a").fence)
    desk.check()
    (pushed,) = desk.push("b", **fields)  # no worker waits any more
    assert (desk.state("b"), pushed.uid > lease.uid) == ("pending", True)
    desk.make_due("a")
    assert desk.tick() == {"released": 1}  # nothing was heard of it
    assert (desk.state("a"), desk.record("a").crashes) == ("pending", 0)


def test_nobody_overtakes_a_task_that_is_ready(desk: Desk) -> None:
    rest(desk)
    desk.broker.push([make("a"), make("b")])
    assert token(desk) == "work"
    desk.client.zadd(desk.keys.idle, {"w2": desk.now() + 1000})
    desk.push("c", priority=9)
    assert token(desk, "w2") == "work"
    assert desk.drain() == ["c", "a", "b"]


def test_who_follows_what_happens_hears_of_each_step(desk: Desk) -> None:
    desk.client.set(desk.keys.tail, 1)
    pubsub = desk.client.pubsub(ignore_subscribe_messages=True)
    pubsub.subscribe(desk.keys.events)
    pubsub.get_message(timeout=5)
    rest(desk)
    desk.push("a")
    assert token(desk) == "work"
    desk.settle(desk.lease("w1"))
    heard = [json.loads(pubsub.get_message(timeout=60)["data"]) for _ in range(3)]
    steps = [("", "pending"), ("pending", "locked"), ("locked", "succeeded")]
    assert [(each["from"], each["to"]) for each in heard] == steps
    pubsub.close()
    desk.client.delete(desk.keys.tail)


def lose(desk: Desk, task_id: str) -> None:
    """A task whose record was lost is in quarantine."""
    desk.push(task_id)
    desk.client.delete(desk.keys.task(task_id))
    assert desk.drain("w3") == []
    assert desk.client.zscore(desk.keys.state("quarantined"), task_id)
    desk.broken.add(task_id)


def meet_a_strange_name(desk: Desk, worker: str) -> None:
    """This worker does not know a name."""
    desk.push("strange", name="tests.strange")
    assert desk.settle(desk.lease(worker), Outcome.UNKNOWN, delay_ms=LATER_MS, worker=worker) == "OK"
    assert desk.state("strange") == "postponed"


@pytest.mark.parametrize(
    "prepare",
    [
        pytest.param(lambda desk: lose(desk, "lost"), id="a task in quarantine"),
        pytest.param(lambda desk: desk.broker.lane(POOL, "default", weight=3), id="a lane with a weight"),
        pytest.param(lambda desk: meet_a_strange_name(desk, "w1"), id="a name that this worker does not know"),
        pytest.param(lambda desk: meet_a_strange_name(desk, "w2"), id="a name that another worker does not know"),
    ],
)
def test_what_concerns_other_tasks_does_not_stop_it(desk: Desk, prepare: Any) -> None:
    prepare(desk)
    for task_id, fields in {"a": {}, "b": {"tags": ("red",)}, "c": {"kind": "other"}}.items():
        lease = handed(desk, task_id, **fields)
        assert desk.settle(lease) == "OK"


def test_a_task_of_a_name_that_the_worker_does_not_know_is_not_handed_to_it(desk: Desk) -> None:
    meet_a_strange_name(desk, "w1")
    rest(desk)
    desk.push("stranger", name="tests.strange")
    assert token(desk) == "work"
    assert desk.drain("w2") == ["stranger"]
    rest(desk, "w2")
    desk.push("strangest", name="tests.strange")
    assert isinstance(token(desk, "w2"), Lease)


def test_the_id_of_a_lost_task_leaves_quarantine_and_goes_through_its_lane(desk: Desk) -> None:
    lose(desk, "a")
    rest(desk)
    desk.push("a")
    assert token(desk) == "work"
    desk.broken.clear()
    assert desk.drain() == ["a"]


def test_a_lane_of_a_task_that_is_handed_over_is_known(desk: Desk) -> None:
    for number, lane in enumerate(("mail", "default", "mail", "sms")):
        handed(desk, f"a{number}", lane=lane)
    assert set(desk.client.zrange(desk.keys.lanes, 0, -1)) >= {b"mail", b"sms"}
    desk.exchange("w2", metrics={"ok|tests.noop": 1, "@ok|default": 1})
    assert desk.client.zscore(desk.keys.lanes, "default")


def test_an_id_that_is_in_use_is_not_handed_over(desk: Desk) -> None:
    lease = handed(desk)
    rest(desk, "w2")
    assert desk.push("a")[0].word == "EXISTS"
    assert desk.client.exists(desk.keys.wake("w2")) == 0
    assert desk.settle(lease) == "OK"


def test_what_was_handed_to_a_worker_that_is_gone_goes_to_another_one_and_costs_nothing(desk: Desk) -> None:
    late = handed(desk, retries=0)
    assert 0 < desk.client.zscore(desk.keys.agenda, "a") - desk.now() <= 2000
    desk.make_due("a")
    assert desk.tick() == {"released": 1}
    assert desk.settle(late) == "STALE"
    assert desk.extend(late).lost == ["a"]
    lease = desk.lease("w2")
    assert (lease.id, lease.attempt, lease.crashes) == ("a", 1, 0)
    desk.make_due("a")
    assert desk.tick() == {"recovered": 1}  # this one was claimed
    assert desk.record("a").crashes == 1


def test_once_it_was_renewed_its_end_is_a_crash(desk: Desk) -> None:
    lease = handed(desk)
    assert desk.extend(lease).lost == []
    assert desk.client.zscore(desk.keys.agenda, "a") - desk.now() > 2000
    desk.make_due("a")
    assert desk.tick() == {"recovered": 1}
    assert desk.record("a").crashes == 1


def test_one_that_is_to_be_cancelled_ends_with_the_lease_that_nobody_took_up(desk: Desk) -> None:
    handed(desk)
    assert desk.told("cancel", "a", value="enough") == "OK"
    desk.make_due("a")
    desk.tick()
    assert desk.state("a") == "cancelled"


def test_a_supervisor_judges_what_had_begun_and_gives_back_what_had_not(desk: Desk) -> None:
    handed(desk)
    assert desk.broker.recover(POOL, "w1", {}) == 1
    assert (desk.state("a"), desk.record("a").crashes) == ("pending", 0)
    desk.drain("w2")
    lease = handed(desk, "b")
    assert desk.broker.recover(POOL, "w1", {"b": end(lease, Outcome.CRASH)}) == 1
    assert (desk.state("b"), desk.record("b").crashes) == ("restart", 1)


def test_a_push_that_changes_nothing_wakes_no_worker(desk: Desk) -> None:
    desk.push("a", delay_ms=LATER_MS)
    rest(desk)
    desk.client.zadd(desk.keys.idle, {"w1": desk.now() + 2 * LATER_MS})  # it wakes by itself after that task is due
    assert desk.word("a", Conflict.IGNORE) == "EXISTS"
    assert desk.client.zrange(desk.keys.idle, 0, -1) == [b"w1"]
    assert desk.word("a", Conflict.REPLACE, delay_ms=1000) == "REPLACED"
    assert token(desk) == "work"  # the agenda has something to do earlier


def test_an_action_that_is_refused_wakes_no_worker(desk: Desk) -> None:
    desk.push("a", delay_ms=LATER_MS)
    rest(desk)
    desk.client.zadd(desk.keys.idle, {"w1": desk.now() + 2 * LATER_MS})
    assert (desk.told("restore", "gone"), desk.told("retry", "a")) == ("GONE", "REFUSED")
    assert desk.client.zrange(desk.keys.idle, 0, -1) == [b"w1"]
    assert desk.told("run_now", "a") == "OK"
    assert desk.client.zrange(desk.keys.idle, 0, -1) == []
