"""Estimates of real lanes and real workers, compared with the time that the tasks then took."""

from __future__ import annotations

from queueops import inspect
from tests.faults import tasks
from tests.faults.conftest import Bench
from tests.support.waiting import wait_until

RUN_S = 0.25


def test_lanes_are_empty_and_a_task_starts_when_the_model_says(bench: Bench) -> None:
    """Two workers, one of them dead; lanes with a limit, a rate and a weight, and one that is paused."""
    bench.worker()
    gone = bench.worker()
    broker, keys = bench.broker, bench.broker.keys("default")
    wait_until(lambda: len(inspect.workers()) == 2, say=bench.say)
    bench.wait([tasks.work.push(RUN_S) for _ in range(8)])
    gone_id = next(row.id for row in inspect.workers() if row.pid in gone.children())
    gone.end()
    broker.beat("default", gone_id, {"slots": 4, "state": "live"})
    broker.client.zadd(keys.workers, {gone_id: 1})
    wait_until(lambda: inspect.snapshot().pools[0].run_p95_ms, say=bench.say)
    for lane, options in {
        "one": {"limit": 1},
        "rate": {"rate": 2},
        "free": {"weight": 2},
        "held": {"paused": 1},
    }.items():
        broker.lane("default", lane, **options)
    counts = {"held": 3, "rate": 12, "free": 60, "one": 24}
    pushed = {lane: [tasks.work.using(lane=lane).push(RUN_S) for _ in range(count)] for lane, count in counts.items()}
    found = inspect.snapshot()
    middle = pushed["free"][40]
    starts = next(finding.text for finding in inspect.why(middle.id) if "starts in about" in finding.text)
    bench.wait([handle for lane in counts if lane != "held" for handle in pushed[lane]])
    (pool,) = found.pools
    lanes = {row.lane: row for row in found.lanes}
    ends = {lane: max(bench.record(handle).ended for handle in pushed[lane]) for lane in counts if lane != "held"}
    assert (lanes["held"].drain_reason, pool.held) == ("paused", 3)
    for lane, end in ends.items():
        close(lanes[lane].drain_s, (end - found.taken_ms) / 1000, lane)
    close(pool.drain_s, (max(ends.values()) - found.taken_ms) / 1000, "pool")
    began = bench.record(middle).begun
    assert began is not None
    close(float(starts.rpartition("about ")[2].split()[0]), (began - found.taken_ms) / 1000, starts)


def close(found: float | None, real: float, what: str) -> None:
    assert found is not None, what
    assert 0.75 <= found / real <= 1.25, f"{what}: estimated {found:.2f} s, really {real:.2f} s"
