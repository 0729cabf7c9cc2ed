"""What is over is kept for a while, and no more than so many; what is deleted can be brought back for a day."""

from __future__ import annotations

import pytest

from queueops.model.contracts import Outcome
from tests.kernel.conftest import MakeDesk
from tests.kernel.desk import POOL, Desk
from tests.kernel.picture import Picture

ENDS = {"succeeded": Outcome.SUCCESS, "failed": Outcome.ERROR, "cancelled": Outcome.CANCEL}


@pytest.mark.parametrize("state", ENDS)
def test_an_ended_task_is_kept_as_long_as_its_state_is(make_desk: MakeDesk, state: str) -> None:
    desk = make_desk(retention={"succeeded": 10.0, "failed": 20.0, "cancelled": 30.0})
    desk.push("a", "b", tags=("red",))
    own, other = desk.claim(2)
    desk.settle(own, ENDS[state], fingerprint="f1")
    kept = desk.client.zscore(desk.keys.agenda, "a") - desk.record("a").ended
    assert kept == desk.broker.settings.retention[state] * 1000
    desk.make_due("a")
    assert desk.tick() == {"expired": 1}
    assert desk.record("a") is None
    assert desk.settle(own) == "GONE"
    assert desk.settle(other) == "OK"


def test_a_task_may_say_how_long_it_is_kept(desk: Desk) -> None:
    desk.push("a", keep_ms=5000)
    desk.drain()
    assert desk.client.zscore(desk.keys.agenda, "a") - desk.record("a").ended == 5000
    desk.control("keep", "a", value=60_000)
    assert desk.client.zscore(desk.keys.agenda, "a") - desk.now() == pytest.approx(60_000, abs=1000)


def test_a_task_that_is_not_kept_is_gone_at_once(desk: Desk) -> None:
    desk.push("a", keep_ms=0)
    desk.drain()
    desk.tick()
    assert desk.record("a") is None


def test_nothing_is_left_of_a_task_whose_time_is_over(desk: Desk) -> None:
    desk.push("a", tags=("red",), lane="one", retries=1)
    lease = desk.lease()
    desk.broker.note(POOL, "a", lease.fence, line=b"half")
    desk.settle(lease, Outcome.ERROR, fingerprint="f1")
    desk.make_due("a")
    desk.tick()
    desk.settle(desk.lease())
    desk.make_due("a")
    desk.tick()
    left = set(Picture(desk.broker).shapes)
    left = {name for name in left if not name.startswith(("metrics", "error"))}
    assert left <= {"clock", "seq", "names", "tags", "lanes", "errors", "counts"}
    counts = desk.client.hgetall(desk.broker.keys(POOL).counts)
    assert [(field[:3], number) for field, number in counts.items() if number != b"0" or field[:3] != b"s||"] == []


def test_no_more_ended_tasks_are_kept_than_the_cap(make_desk: MakeDesk) -> None:
    desk = make_desk(retention_cap=5)
    desk.push(*[f"t{number}" for number in range(8)])
    desk.drain()
    assert desk.tick()["trimmed"] == 3
    assert desk.client.zrange(desk.keys.state("succeeded"), 0, -1) == [f"t{number}".encode() for number in range(3, 8)]
    desk.check()


def test_the_cap_is_reached_in_bounded_steps(make_desk: MakeDesk) -> None:
    desk = make_desk(retention_cap=0)
    desk.push(*[f"t{number}" for number in range(30)])
    desk.drain()
    assert [desk.tick(10).get("trimmed") for _ in range(4)] == [10, 10, 10, None]


def test_a_deleted_task_can_be_brought_back_whole(desk: Desk) -> None:
    desk.push("a", tags=("red", "blue"), lane="one", args=b"[[1],{}]")
    desk.settle(desk.lease(), Outcome.ERROR, b'{"type":"E"}', fingerprint="f1", title="E")
    before, log = desk.record("a"), desk.client.lrange(desk.keys.log("a"), 0, -1)
    assert desk.told("delete", "a") == "OK"
    assert desk.record("a") is None
    assert desk.told("restore", "a") == "OK"
    after = desk.record("a")
    after.operation = before.operation
    assert after == before
    assert desk.client.lrange(desk.keys.log("a"), 0, 0) == log[:1]


@pytest.mark.parametrize(("keep", "seconds"), [(None, 30.0), (5_000_000, 5000.0)])
def test_what_is_brought_back_is_kept_as_long_as_it_says_itself_from_then_on(
    make_desk: MakeDesk, keep: int | None, seconds: float
) -> None:
    desk = make_desk(retention={"succeeded": 30.0, "failed": 20.0, "cancelled": 10.0})
    desk.push("a", keep_ms=keep)
    desk.drain()
    assert desk.told("delete", "a") == "OK"
    assert desk.told("restore", "a") == "OK"
    left = desk.client.zscore(desk.keys.agenda, "a") - desk.now()
    assert left == pytest.approx(seconds * 1000, abs=1000)


def test_the_trash_is_emptied(desk: Desk) -> None:
    desk.push("a")
    desk.drain()
    desk.control("delete", "a")
    left = desk.client.zscore(desk.keys.agenda, "~trash:a") - desk.now()
    assert left == pytest.approx(86_400_000, abs=5000)
    desk.make_due("~trash:a")
    assert desk.tick() == {"trash": 1}
    assert desk.told("restore", "a") == "GONE"


def test_a_new_task_under_a_deleted_id_is_another_one(desk: Desk) -> None:
    desk.push("a")
    desk.drain()
    desk.control("delete", "a")
    assert desk.push("a")[0].word == "OK"
    assert desk.told("restore", "a") == "REFUSED"
    desk.drain()
    desk.control("delete", "a")
    assert desk.told("restore", "a") == "OK"


def test_a_worker_without_a_word_is_forgotten(desk: Desk) -> None:
    desk.broker.beat(POOL, "w1", {"host": "here"})
    desk.broker.beat(POOL, "w2", {"host": "here"})
    desk.client.zadd(desk.keys.workers, {"w1": desk.now() - 200_000})
    assert desk.tick() == {"forgotten": 1}
    assert desk.client.zrange(desk.keys.workers, 0, -1) == [b"w2"]
    assert not desk.client.exists(desk.keys.worker("w1"))


@pytest.mark.parametrize("state", ["pending", "locked"])
def test_a_waiter_is_told_of_the_end(desk: Desk, state: str) -> None:
    assert desk.broker.wait(POOL, "a") == ""
    desk.push("a")
    leases = desk.claim() if state == "locked" else []
    with desk.client.pubsub() as ear:
        ear.subscribe(desk.keys.done("a"))
        ear.get_message(timeout=60)
        assert desk.broker.wait(POOL, "a") == state
        assert [desk.settle(lease) for lease in leases or desk.claim()] == ["OK"]
        assert ear.get_message(timeout=60)["data"] == b"succeeded"
    assert desk.broker.wait(POOL, "a") == "succeeded"


def test_of_the_kinds_of_error_the_newest_thousand_are_known(desk: Desk) -> None:
    now = desk.now()
    names = [f"f{number}" for number in range(1003)]
    with desk.client.pipeline() as pipe:
        for age, name in enumerate(names):
            pipe.zadd(desk.keys.errors, {name: now - age})
            pipe.hset(desk.keys.error(name), mapping={"title": "x", "count": 1, "first": 1, "name": "n", "sample": "a"})
        pipe.execute()
    desk.tick()
    assert desk.client.zcard(desk.keys.errors) == 1000
    assert desk.client.exists(*map(desk.keys.error, names[1000:])) == 0
    assert desk.client.exists(*map(desk.keys.error, names[:1000])) == 1000
    desk.client.flushall()
