"""Which workers are woken, and when: never fewer than there is work for, and none in vain."""

from __future__ import annotations

import select
from collections.abc import Iterator

import pytest

from queueops.model.contracts import Conflict, Lease, Outcome
from queueops.redis.broker.exchange import RedisWaker
from tests.kernel.desk import POOL, Desk, make
from tests.support.servers import HAS_FUNCTIONS
from tests.support.waiting import wait_until

LATER_MS = 5_000_000


def idle(desk: Desk, *workers: str) -> None:
    """These workers have nothing to do."""
    for worker in workers:
        assert desk.exchange(worker, want=4, idle=True).leases == []


def woken(desk: Desk) -> list[str]:
    """The workers that have a token: the word, or the work itself."""
    found = {name: desk.client.lrange(desk.keys.wake(name), 0, -1) for name in ("w1", "w2", "w3", "w4")}
    return [name for name, tokens in found.items() if len(tokens) == 1 and tokens[0].startswith((b"work", b"task\0"))]


def sleeping(desk: Desk) -> list[str]:
    """The workers that are registered as idle."""
    return [member.decode() for member in desk.client.zrange(desk.keys.idle, 0, -1)]


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_a_push_wakes_as_many_as_it_brings_work_for(desk: Desk, count: int) -> None:
    idle(desk, "w1", "w2", "w3")
    desk.broker.push([make(f"t{number}") for number in range(count)])
    assert len(woken(desk)) == min(count, 3)
    assert len(sleeping(desk)) == 3 - min(count, 3)


def test_a_worker_that_comes_back_is_no_longer_idle(desk: Desk) -> None:
    idle(desk, "w1")
    desk.exchange("w1", want=0)
    assert sleeping(desk) == []
    desk.push("a")
    assert woken(desk) == []


def test_a_worker_that_finds_work_is_not_registered_as_idle(desk: Desk) -> None:
    desk.push("a", "b")
    found = desk.exchange("w1", want=1, idle=True)
    assert (len(found.leases), found.ready, sleeping(desk)) == (1, True, [])


def test_a_worker_that_leaves_something_wakes_another_one(desk: Desk) -> None:
    desk.push(*"abc")
    desk.client.zadd(desk.keys.idle, {"w2": desk.now() + 1000})  # its token died with another worker
    assert desk.exchange("w1", want=1).ready is True
    assert woken(desk) == ["w2"]


def test_a_tick_makes_good_a_wake_up_that_died_with_its_worker(desk: Desk) -> None:
    idle(desk, "w1", "w2")
    desk.push("a", tags=("red",))  # so that it is not handed over
    (dead,) = woken(desk)
    desk.client.delete(desk.keys.wake(dead))
    desk.tick()
    assert len(woken(desk)) == 1
    assert woken(desk) != [dead]


def test_nobody_is_woken_for_what_nobody_may_claim(desk: Desk) -> None:
    desk.broker.lane(POOL, "held", paused=1)
    desk.broker.lane(POOL, "narrow", limit=1)
    idle(desk, "w1", "w2", "w3")
    desk.push("a", "b", lane="held")
    desk.push("c", delay_ms=LATER_MS)
    desk.push("a", lane="held", conflict=Conflict.REPLACE)
    assert woken(desk) == []
    desk.push("d", "e", "f", lane="narrow")
    assert len(woken(desk)) == 1


def test_a_lane_that_is_resumed_wakes_those_who_wait(desk: Desk) -> None:
    desk.broker.lane(POOL, "held", paused=1)
    desk.push("a", "b", lane="held")
    idle(desk, "w1", "w2", "w3")
    desk.broker.lane(POOL, "held", paused=None)
    assert len(woken(desk)) == 2


@pytest.mark.parametrize("verb", ["run_now", "retry", "reinstate", "requeue", "release"])
def test_an_action_that_makes_a_task_ready_wakes_a_worker(desk: Desk, verb: str) -> None:
    desk.push("a", delay_ms=LATER_MS if verb == "run_now" else None)
    if verb != "run_now":
        lease = desk.lease("w9")
        ends = {"retry": Outcome.ERROR, "reinstate": Outcome.CANCEL, "requeue": Outcome.QUARANTINE}
        desk.settle(lease, ends[verb], worker="w9") if verb in ends else None
    idle(desk, "w1", "w2")
    assert desk.told(verb, "a") == "OK"
    assert len(woken(desk)) == 1


def test_a_dead_workers_tasks_wake_the_others(desk: Desk) -> None:
    desk.push("a", "b")
    desk.claim(2, "w9")
    idle(desk, "w1", "w2", "w3")
    desk.broker.recover(POOL, "w9", {})
    assert len(woken(desk)) == 2


def test_a_task_that_is_due_before_the_sleepers_wake_wakes_one(desk: Desk) -> None:
    idle(desk, "w1", "w2", "w3")
    desk.push("soon", delay_ms=3000)
    assert len(woken(desk)) == 1
    (woke,) = woken(desk)
    desk.client.delete(desk.keys.wake(woke))
    assert desk.exchange(woke, want=4, idle=True).sleep_ms <= 3000
    desk.push("later", delay_ms=6000)
    assert woken(desk) == []  # one of them comes before that anyway


def test_a_backed_off_task_that_is_due_before_the_sleepers_wake_wakes_one(desk: Desk) -> None:
    desk.push("a", retries=1)
    lease = desk.lease("w9")
    idle(desk, "w1", "w2")
    desk.settle(lease, Outcome.ERROR, worker="w9", delay_ms=1000)
    assert len(woken(desk)) == 1
    desk.client.delete(desk.keys.agenda)
    desk.client.flushall()


def test_the_time_to_sleep_is_the_time_to_the_next_entry(desk: Desk) -> None:
    assert desk.exchange(want=1, idle=True).sleep_ms == 10_000
    desk.push("a", delay_ms=9000)
    due, before = desk.client.zscore(desk.keys.agenda, "a"), desk.now()
    sleep_ms = desk.exchange(want=1, idle=True).sleep_ms
    assert due - desk.now() <= sleep_ms <= due - before


def test_a_worker_that_looks_again_and_finds_nothing_asks_little_and_is_known_to_be_alive(desk: Desk) -> None:
    desk.broker.beat(POOL, "w1", {"host": "h"})
    idle(desk, "w1")
    for index in (desk.keys.idle, desk.keys.workers):
        desk.client.zadd(index, {"w1": 1})
    desk.client.config_resetstat()
    before = desk.now()
    idle(desk, "w1")
    calls = desk.client.info("commandstats")
    assert desk.client.zscore(desk.keys.idle, "w1") > before
    assert desk.client.zscore(desk.keys.workers, "w1") >= before
    asked = sum(row["calls"] for name, row in calls.items() if name != "cmdstat_config|resetstat")
    assert asked <= (9 if HAS_FUNCTIONS else 10)  # one of them is the TIME of this test


def test_one_that_was_forgotten_is_not_made_known_by_looking(desk: Desk) -> None:
    idle(desk, "w1")
    idle(desk, "w1")
    assert desk.client.zscore(desk.keys.workers, "w1") is None


@pytest.fixture
def waker(desk: Desk) -> Iterator[RedisWaker]:
    """A worker's blocking wait."""
    waker = desk.broker.waker(POOL, "w1")
    yield waker
    waker.close()


def token(waker: RedisWaker, seconds: float = 60) -> list[str | Lease]:
    """The next token, as a worker's loop takes it; none when none comes in time."""
    if not select.select([waker], [], [], seconds)[0]:
        return []
    found = waker.read()
    waker.arm()
    return found


def test_each_push_reaches_a_blocked_worker(desk: Desk, waker: RedisWaker) -> None:
    desk.broker.lane(POOL, "narrow", limit=5)
    for number in range(10):
        idle(desk, "w1")
        desk.push(f"lane{number}", lane="narrow")
        assert token(waker) == ["work"]
        desk.drain()
        idle(desk, "w1")
        desk.push(f"hand{number}")
        (handed,) = token(waker)
        assert isinstance(handed, Lease)
        assert (handed.id, desk.settle(handed)) == (f"hand{number}", "OK")


def test_a_postponed_task_starts_at_its_time_without_a_watchdog(desk: Desk, waker: RedisWaker) -> None:
    def postponed() -> int:
        """How long the one who was woken may sleep; none where the machine was so slow that it is due already."""
        idle(desk, "w1")
        desk.push("a", delay_ms=150)
        assert token(waker) == ["work"]
        found = desk.exchange("w1", want=1, idle=True)
        if not found.leases:
            return found.sleep_ms
        desk.client.flushall()
        return 0

    sleep_ms = wait_until(postponed)
    assert sleep_ms <= 150
    assert token(waker, sleep_ms / 1000) == []
    (lease,) = wait_until(lambda: desk.exchange("w1", want=1, idle=True).leases, every=0.001)
    assert desk.record("a").due <= desk.record("a").begun
    assert lease.id == "a"


def test_tokens_are_read_in_order_and_none_is_lost(desk: Desk, waker: RedisWaker) -> None:
    for word in ("quiet", "stop"):
        desk.broker.tell(POOL, "w1", word)
    assert [*token(waker), *token(waker)] == ["quiet", "stop"]
