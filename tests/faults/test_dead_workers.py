"""Processes that die: by a signal, by their own hand, all at once, one after the other."""

from __future__ import annotations

import os
import signal
from typing import Any

import psutil
import pytest

from queueops.results.handle import TaskHandle
from queueops.worker import stack_file
from tests.faults import hogs, tasks
from tests.faults.conftest import UNHURRIED, Bench
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults

Handle = TaskHandle[Any]
MAX_CRASHES = 3
SHARES = 8
"""Of four that share half a crash each gets an eighth of one."""


def test_a_task_whose_process_is_killed_runs_again_and_that_is_a_crash_not_an_attempt(bench: Bench) -> None:
    worker = bench.worker()
    handle = tasks.die_once.push(int(signal.SIGKILL))
    (record,) = bench.wait([handle])
    assert (record.crashes, record.attempt) == (1, 0)
    assert bench.ledger.starts()[handle.id] == 2
    assert "SIGKILL" in worker.text()
    assert f"ended while it ran {handle.id}" in worker.text()
    os.kill(worker.pid, stack_file.SIGNAL)  # which ends a process that does not ignore it
    assert worker.stop() == 0


def test_prefetched_tasks_of_a_killed_process_go_back_free_of_charge(bench: Bench) -> None:
    worker = bench.worker("--threads", "1", LEASE=UNHURRIED)
    child = worker.child()
    bench.ledger.close("end")
    warm = tasks.work.push_many([(0.001,)] * 200)
    bench.wait(warm)
    long = tasks.wait_at_gate.push("end")
    bench.started(long)
    others = tasks.work.push_many([(0.0,)] * 5)
    os.kill(child, signal.SIGKILL)
    bench.ledger.open("end")
    assert all((record.crashes, record.attempt) == (0, 0) for record in bench.wait(others))
    assert bench.wait([long])[0].crashes == 1
    assert worker.children() != [child]


def test_a_task_that_closes_all_files_of_its_process_fails_after_three_crashes(bench: Bench) -> None:
    bench.worker(LEASE=UNHURRIED)
    handle = hogs.close_all.push()
    (record,) = bench.wait([handle], "failed")
    assert (record.crashes, bench.ledger.starts()[handle.id]) == (MAX_CRASHES, MAX_CRASHES)


def test_a_task_that_ends_its_process_fails_after_three_crashes(bench: Bench) -> None:
    # Before a worker waits, to which it would be handed with a lease that may end; and each is alone in its process.
    handles = [tasks.leave.push(status) for status in (0, 1, 7)]
    worker = bench.worker("--processes", "3", "--threads", "1", LEASE=UNHURRIED)
    for record in bench.wait(handles, "failed"):
        assert (record.crashes, record.attempt) == (MAX_CRASHES, 0)
        assert "lost its worker 3 times" in record.reason
        assert bench.ledger.starts()[record.id] == MAX_CRASHES
    assert worker.popen.poll() is None


def test_poison_fails_and_its_neighbours_succeed(bench: Bench) -> None:
    neighbours = tasks.work.push_many([(0.01,)] * 30)
    poison = tasks.poison.push()
    neighbours += tasks.work.push_many([(0.01,)] * 30)
    bench.worker("--processes", "2", LEASE=UNHURRIED)
    each_is_charged_by_the_rule(bench, [poison], neighbours)


def test_neighbours_that_run_long_are_not_charged_with_what_poison_does(bench: Bench) -> None:
    neighbours = tasks.work.push_many([(1.0,)] * 12)
    poison = [tasks.poison.push(), tasks.poison.push()]
    bench.worker("--processes", "2", LEASE=UNHURRIED)
    each_is_charged_by_the_rule(bench, poison, neighbours)
    assert "in a row" not in bench.workers[0].text()


def each_is_charged_by_the_rule(bench: Bench, poison: list[Handle], neighbours: list[Handle]) -> None:
    """As `crash_attribution` says: alone in full, beside others with an equal share of half a crash."""
    charged = {record.id: record.crashes for record in bench.wait(poison, "failed")}
    assert set(charged.values()) == {MAX_CRASHES}
    charged |= {record.id: record.crashes for record in bench.wait(neighbours)}
    starts = bench.ledger.starts()
    for handle in poison:  # each start is a death, and each death brings it at least the smallest share
        assert MAX_CRASHES <= starts[handle.id] <= MAX_CRASHES * SHARES
    for handle in neighbours:  # never alone in a death: a share is at most a quarter
        assert charged[handle.id] <= (starts[handle.id] - 1) // 4
    assert sum(charged.values()) <= sum(starts[handle.id] for handle in poison)  # a death is charged once at most


def test_when_supervisor_and_children_are_killed_others_take_over_after_the_lease(bench: Bench) -> None:
    first = bench.worker()
    bench.ledger.close("end")
    handle = tasks.wait_at_gate.push("end")
    bench.started(handle)
    first.signal_all(signal.SIGKILL)
    bench.ledger.open("end")
    second = bench.worker()
    (record,) = bench.wait([handle])
    assert (record.crashes, record.attempt) == (1, 0)
    assert second.stop() == 0


def test_children_of_a_killed_supervisor_end_and_give_back_what_they_hold(bench: Bench) -> None:
    worker = bench.worker("--processes", "2", GRACE=1.0, LEASE=UNHURRIED)
    wait_until(lambda: len(worker.children()) == 2)
    children = [psutil.Process(pid) for pid in worker.children()]
    handle = tasks.work.push(600)
    bench.started(handle)
    worker.signal(signal.SIGKILL)
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive
    (record,) = bench.wait([handle], "pending")
    assert (record.crashes, record.attempt) == (0, 0)


def test_a_process_that_somebody_else_told_to_stop_ends_in_order_and_is_replaced(bench: Bench) -> None:
    worker = bench.worker()
    child = worker.child()
    handle = tasks.work.push(1)
    bench.started(handle)
    os.kill(child, signal.SIGTERM)
    bench.wait([handle])
    wait_until(lambda: worker.children() and worker.children() != [child], say=worker.text)
    bench.wait([tasks.work.push()])


def test_a_process_that_dies_again_and_again_is_replaced_more_and_more_slowly(bench: Bench) -> None:
    worker = bench.worker()
    for times in range(1, 4):
        wait_until(lambda times=times: worker.text().count(" started as ") == times, say=worker.text)
        os.kill(worker.child(), signal.SIGKILL)
        wait_until(lambda times=times: worker.text().count("SIGKILL") == times, say=worker.text)
    wait_until(lambda: "in a row" in worker.text(), say=worker.text)
    assert "died 1 times" not in worker.text()  # the first death delays nothing
    handle = tasks.work.push()
    bench.wait([handle])
    assert worker.stop() == 0
