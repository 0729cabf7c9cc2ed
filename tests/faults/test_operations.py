"""A bulk action outlives its workers: another one goes on from its place, and each task is changed and counted once."""

from __future__ import annotations

import signal

import pytest

from queueops import control, inspect
from queueops.inspect import Operation, TaskQuery
from tests.faults import tasks
from tests.faults.conftest import Bench
from tests.faults.processes import Worker
from tests.kernel import invariants
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults

TASKS, KILLS, AHEAD = 3_000, 2, 100


def now(id: str) -> Operation:
    """The operation as it is now."""
    found = inspect.operation(id, "default")
    assert found is not None
    return found


def holder(bench: Bench, id: str) -> Worker | None:
    """The worker that performs it."""
    record = bench.broker.record("default", id)
    if record is None or record.state != "locked":
        return None
    return next((each for each in bench.workers if f":{each.pid}:" in (record.worker or "")), None)


def test_another_worker_goes_on_when_one_is_killed_in_the_middle(bench: Bench) -> None:
    control.pause_lane("default", "default", new=True)
    tasks.work.push_many([()] * TASKS)
    for _ in range(2):
        bench.worker("--processes", "1").child()
    ((_, id),) = control.begin_operation("cancel", TaskQuery(state="pending"), who="ada")

    for _ in range(KILLS):
        before = now(id).changed
        wait_until(lambda before=before: now(id).changed > before + AHEAD, 60, bench.say, every=0.005)
        worker = wait_until(lambda: holder(bench, id), 60, bench.say, every=0.005)
        worker.signal_all(signal.SIGKILL)
        assert now(id).changed < TASKS, "it ended before the kill"
        bench.worker("--processes", "1")

    wait_until(lambda: now(id).has_ended, 120, bench.say)
    ended = now(id)
    assert (ended.state, ended.seen, ended.changed, ended.left) == ("succeeded", TASKS, TASKS, 0)
    keys = bench.broker.keys("default")
    cancelled = [member.decode() for member in bench.broker.client.zrange(keys.state("cancelled"), 0, -1)]
    assert len(cancelled) == TASKS
    with bench.broker.client.pipeline(transaction=False) as pipe:
        for task_id in cancelled:
            pipe.llen(keys.log(task_id))
        assert set(pipe.execute()) == {1}, "a task was changed twice"
    record = bench.broker.record("default", id)
    assert record is not None
    assert record.crashes == KILLS
    for each in bench.workers:
        each.end()
    invariants.check(bench.broker)
    bench.finished = True  # there are no chunks, whose check is quadratic
