"""Processes whose interpreter is held by one task: they live, and cannot speak."""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from queueops import control, inspect
from tests.faults import hogs, tasks
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults

LEASE = 4
LONG = 2.5 * LEASE
BUSY = 1.5 * LEASE
"""Processor time of the regular expression, and of the sum: both outlast a lease."""


def conditions() -> list[str]:
    """What the registry says of each worker process."""
    return [row.state for row in inspect.workers()]


def keeper_of(worker) -> int:
    """Wait for the lease keeper: the child of the supervisor that runs no tasks."""
    known = set(worker.children())
    found = wait_until(lambda: {child.pid for child in psutil.Process(worker.pid).children()} - known, say=worker.text)
    return int(found.pop())


@pytest.mark.parametrize(("hog", "argument"), [(hogs.hold_lock, LONG), (hogs.add_up, BUSY), (hogs.match, BUSY)])
def test_a_task_that_holds_the_lock_past_its_lease_and_its_neighbours_start_once(bench, hog, argument):
    bench.watchdog()
    bench.worker("--processes", "2", "--threads", "8", LEASE=LEASE)
    sleeping = [tasks.work.push(2 * LEASE) for _ in range(10)]
    for handle in sleeping:
        bench.started(handle)
    handles = [hog.push(argument), *sleeping]
    records = bench.wait(handles)
    assert bench.ledger.starts() == {handle.id: 1 for handle in handles}
    assert [record.crashes for record in records] == [0] * len(handles)


def test_a_task_that_holds_the_lock_from_the_first_turn_of_its_process_on_and_its_neighbours_start_once(bench):
    bench.watchdog()
    handles = [tasks.work.push(2 * LEASE) for _ in range(10)] + [hogs.hold_lock.push(LONG)]
    bench.worker("--processes", "2", "--threads", "8", LEASE=LEASE)
    records = bench.wait(handles)
    assert bench.ledger.starts() == {handle.id: 1 for handle in handles}
    assert [record.crashes for record in records] == [0] * len(handles)


def test_a_task_that_holds_the_lock_as_soon_as_it_is_handed_over_starts_once(bench):
    bench.watchdog()
    bench.worker("--processes", "2", LEASE=LEASE)
    wait_until(lambda: bench.broker.client.zcard(bench.broker.keys("default").idle) == 2, say=bench.say)
    handle = hogs.hold_lock.push(LONG)
    wait_until(lambda: "silent" in conditions(), say=bench.say)
    (record,) = bench.wait([handle])
    assert (bench.ledger.starts(), record.crashes) == ({handle.id: 1}, 0)
    wait_until(lambda: conditions() == ["live", "live"], say=conditions)


def test_what_was_fetched_and_not_started_runs_elsewhere_and_not_again_when_the_process_wakes_up(bench):
    bench.watchdog()
    held = bench.worker("--threads", "1", LEASE=LEASE)
    for handle in [tasks.echo.push() for _ in range(300)]:  # so that it fetches ahead
        handle.result(60)
    pushed = []
    for gate in "abcdefgh":  # on a busy machine it may take the tasks for long ones
        bench.ledger.close(gate)
        control.pause_lane("default", "default")
        hog, waiting = hogs.hold_while_closed.push(gate), tasks.work.push_many([()] * 20)
        pushed += [hog, *waiting]
        control.resume_lane("default", "default")
        bench.started(hog)
        if any(bench.record(handle).state == "locked" for handle in waiting):
            break
        bench.ledger.open(gate)
        bench.wait([hog, *waiting])
    else:
        pytest.fail("it fetched nothing ahead")
    bench.worker("--threads", "1", LEASE=LEASE)
    records = bench.wait(waiting)
    assert bench.record(hog).state == "locked"
    bench.ledger.open(gate)
    bench.wait([hog])
    held.stop()
    assert bench.ledger.starts() == {handle.id: 1 for handle in pushed}
    assert [record.crashes for record in records] == [0] * len(waiting)


def test_a_process_that_is_stopped_alone_keeps_its_leases_and_goes_on(bench):
    bench.watchdog()
    worker = bench.worker("--processes", "1", LEASE=LEASE)
    bench.ledger.close("end")
    handle = tasks.wait_at_gate.push("end")
    bench.started(handle)
    os.kill(worker.child(), signal.SIGSTOP)
    begun = bench.broker.record("default", handle.id)
    wait_until(lambda: "silent" in conditions(), say=bench.say)
    lasts = bench.lease_end(handle)
    wait_until(lambda: bench.lease_end(handle) > lasts + 1000 * LEASE, say=bench.say)
    os.kill(worker.child(), signal.SIGCONT)
    bench.ledger.open("end")
    (record,) = bench.wait([handle])
    assert (bench.ledger.starts(), record.fence) == ({handle.id: 1}, begun.fence)


def test_a_process_that_is_stopped_together_with_its_supervisor_loses_its_lease(bench):
    bench.watchdog()
    worker = bench.worker(LEASE=LEASE)
    bench.ledger.close("end")
    handle = tasks.wait_at_gate.push("end")
    bench.started(handle)
    os.kill(worker.child(), signal.SIGSTOP)
    keeper_of(worker)
    worker.signal(signal.SIGSTOP)  # and not the keeper, which goes on by itself
    bench.ledger.open("end")
    bench.worker(LEASE=LEASE)
    (record,) = bench.wait([handle])
    assert (bench.ledger.starts(), record.crashes) == ({handle.id: 2}, 1)


def test_a_hung_process_is_shown_as_such_and_only_what_runs_in_it_is_judged(bench):
    bench.watchdog()
    worker = bench.worker("--threads", "2", LEASE=LEASE, HUNG_AFTER=3)
    neighbour = tasks.work.push(1)
    hog = hogs.hold_once.push()
    bench.started(neighbour), bench.started(hog)
    waiting = tasks.work.push()
    wait_until(lambda: "hung" in conditions(), say=bench.say)
    told = " ".join(finding.text for finding in inspect.why(hog.id))
    assert "has been silent for" in told, (told, worker.text())
    assert "The process is hung" in told, (told, worker.text())
    judged = bench.wait([hog, neighbour, waiting])
    assert [record.crashes for record in judged] == [0, 0, 0]  # which of the two that ran did it cannot be told
    assert bench.ledger.starts() == {hog.id: 2, neighbour.id: 2, waiting.id: 1}
    assert "is hung" in worker.text()
    (line,) = bench.broker.client.lrange(bench.broker.keys("default").log(hog.id), 0, -1)
    assert b"it gave no sign of life for" in line


def test_a_task_that_hangs_its_process_each_time_fails_by_the_crash_rule(bench):
    bench.watchdog()
    bench.worker(LEASE=LEASE, HUNG_AFTER=1)
    handle = hogs.hold_lock.push(3600)
    (record,) = bench.wait([handle], "failed")
    assert (bench.ledger.starts(), record.crashes) == ({handle.id: 3}, 3)
    assert "gave no sign of life" in record.reason


def test_a_hard_cancel_reaches_a_task_that_holds_the_lock(bench):
    bench.watchdog()
    worker = bench.worker(LEASE=LEASE)
    handle = hogs.hold_lock.push(3600)
    bench.started(handle)
    wait_until(lambda: "silent" in conditions(), say=bench.say)
    control.cancel([handle.id], hard=True)
    (record,) = bench.wait([handle], "cancelled")
    assert record.crashes == 0
    assert f"Task {handle.id} was cancelled hard and did not end; killing process" in worker.text()
    assert "past its hard limit" not in worker.text()
    assert len(wait_until(worker.children, say=worker.text)) == 1
