"""The chunks of map-reduce tasks are work that waits: the overview's figures and the lanes count them."""

from __future__ import annotations

from queueops import inspect
from queueops.redis.broker import get_broker
from tests.kernel.desk import Desk
from tests.support.chunkwork import ChunkWork
from tests.support.monitoring import round_trips


def a_task(size: int, task_id: str = "count", **own: str | int) -> ChunkWork:
    """It gathers, and no chunk was begun."""
    work = ChunkWork(get_broker(), task_id, **own)
    work.map(list(range(size)))
    return work


def test_chunks_that_wait_are_counted_with_the_tasks_that_wait(desk: Desk) -> None:
    a_task(30).claim(4)
    desk.push("plain")
    (pool,) = inspect.snapshot().pools
    assert (pool.waiting, pool.chunks_pending, pool.chunks_active) == (27, 26, 4)


def test_chunks_are_drained_within_the_limit_of_their_own_task(desk: Desk) -> None:
    desk.broker.beat("default", "w1", {"names": "", "slots": 8})
    desk.exchange(metrics={"ok|tests.count": 4, "ms|tests.count": 40_000, "ok|f.one": 9, "ms|f.one": 9000})
    work = a_task(32, mx=2)
    work.done(work.claim(2))
    desk.push(*[f"t{number}" for number in range(60)], name="f.one")
    (pool,) = inspect.snapshot().pools
    assert 0.01 < pool.chunk_rate <= 0.04
    assert pool.drain_s is not None
    assert 0.75 * 150 < pool.drain_s < 1.25 * 150  # two chunks of 10 s at a time, beside 60 tasks in the other slots
    desk.broker.lane("default", "default", paused=1)
    (pool,) = inspect.snapshot().pools
    assert (pool.drain_s, pool.drain_reason, pool.held) == (None, "paused", 90)


def test_chunks_that_nobody_takes_are_never_drained(desk: Desk) -> None:
    desk.exchange(want=0)
    a_task(3)
    desk.client.delete(*desk.client.keys(f"{desk.keys.prefix}:metrics:*"))  # minutes ago
    (pool,) = inspect.snapshot().pools
    assert (pool.waiting, pool.drain_s, pool.drain_reason) == (3, None, "no worker")


def test_chunks_whose_kind_no_worker_takes_are_an_alarm(desk: Desk) -> None:
    desk.tick()
    a_task(3)
    desk.broker.beat("default", "w1", {"names": "", "slots": 4, "state": "live", "kinds": "task"})
    (alarm,) = inspect.snapshot().alarms
    assert "No live worker of the pool default takes the kind mapreduce: 1 task waits." in alarm.text
    assert alarm.command == "manage.py runworker --pool default --kinds mapreduce"
    desk.broker.beat("default", "w1", {"names": "", "slots": 4, "state": "live", "kinds": "mapreduce"})
    assert inspect.snapshot().alarms == ()


def test_of_very_many_tasks_some_are_looked_at_and_the_others_estimated(desk: Desk) -> None:
    ids = [f"m{number:03}" for number in range(250)]
    desk.client.zadd(desk.keys.state("aggregating"), dict.fromkeys(ids, 1))
    for task_id in ids:
        desk.client.zadd(f"{desk.keys.task(task_id)}#chunks:pending", {"0": 0, "1": 1})
    (pool,) = inspect.snapshot().pools
    assert pool.chunks_pending == 500
    assert len(inspect.chunk_lanes()) == 50
    desk.client.delete(desk.keys.state("aggregating"), *[f"{desk.keys.task(id)}#chunks:pending" for id in ids])


def test_each_task_that_gathers_is_a_lane_with_what_holds_it_up(desk: Desk) -> None:
    a_task(3, "few", mx=2).claim(2)
    a_task(9, "many")
    rows = inspect.chunk_lanes()
    assert [(row.id, row.ready, row.active, row.limit) for row in rows] == [("many", 9, 0, None), ("few", 1, 2, 2)]
    assert [(row.name, row.lane, row.closed) for row in rows] == [("tests.count", "default", False)] * 2
    desk.broker.lane("default", "default", paused=1)
    assert {row.closed for row in inspect.chunk_lanes("default")} == {True}
    assert inspect.snapshot().chunk_lanes == tuple(inspect.chunk_lanes())


def test_a_task_that_does_not_gather_has_no_lane_of_chunks(desk: Desk) -> None:
    work = a_task(1)
    work.done(work.claim(1))
    assert inspect.chunk_lanes() == []


def test_pages_of_lanes_share_a_sample(desk: Desk) -> None:
    """The first load of a page reads anew, once for lanes and chunks together."""
    a_task(30)
    desk.push("plain", lane="side")

    def load(max_age_s: float) -> tuple[list[str], list[str]]:
        lanes, chunks = inspect.lanes(max_age_s=max_age_s), inspect.chunk_lanes(max_age_s=60)
        return [row.lane for row in lanes], [row.id for row in chunks]

    assert load(0) == (["side", "default"], ["count"])
    seen = [load(60) for _ in range(2)]
    assert round_trips(desk, lambda: seen.extend(load(60) for _ in range(48))).sent == []
    assert seen == [(["side", "default"], ["count"])] * 50
    desk.push("later", lane="third")
    found: list[tuple[list[str], list[str]]] = []
    asked = round_trips(desk, lambda: found.append(load(0)))
    assert len([each for each in asked.sent if "sample" in each]) == 1
    assert found == [(["third", "side", "default"], ["count"])]
