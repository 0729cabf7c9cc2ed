"""Limits of time and memory, and what the tasks of one process cost their neighbours."""

from __future__ import annotations

import msgspec
import pytest

from queueops import group
from tests.faults import tasks
from tests.faults.conftest import UNHURRIED, Bench
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("real_starts")]


@pytest.mark.parametrize("name", ["slow_loop", "slow_loop_later"])
def test_the_soft_limit_raises_in_the_task(bench: Bench, name: str) -> None:
    worker = bench.worker()
    child = worker.child()
    (record,) = bench.wait([getattr(tasks, name).push()], "failed")
    error = msgspec.json.decode(record.error)
    assert error["type"] == "queueops.errors.SoftTimeout"
    assert error["message"] == "The task ran longer than its timeout of 0.4 s."
    assert "tasks.py" in error["traceback"]
    assert (record.attempt, record.crashes) == (1, 0)
    assert worker.children() == [child]


@pytest.mark.parametrize("name", ["deaf", "stubborn"])
def test_the_hard_limit_replaces_the_process_and_costs_its_other_tasks_nothing(bench: Bench, name: str) -> None:
    worker = bench.worker(LEASE=UNHURRIED)  # a deaf process renews nothing, and what has expired counts as a crash
    child = worker.child()
    neighbour = tasks.work.push(3)
    bench.started(neighbour)
    (record,) = bench.wait([getattr(tasks, name).push()], "failed")
    assert msgspec.json.decode(record.error)["type"] == "HardTimeout"
    assert (record.attempt, record.crashes) == (1, 0)
    assert child not in worker.children()
    assert "is past its hard limit; killing process" in worker.text()
    assert "cancelled hard" not in worker.text()
    (record,) = bench.wait([neighbour])
    assert (record.attempt, record.crashes) == (0, 0)


@pytest.mark.parametrize("name", ["patient", "patient_later"])
def test_a_running_task_that_is_cancelled_ends_as_cancelled(bench: Bench, name: str) -> None:
    bench.worker()
    handle = getattr(tasks, name).push(30)
    bench.started(handle)
    handle.cancel(reason="no longer wanted")
    (record,) = bench.wait([handle], "cancelled")
    assert record.reason == "no longer wanted"


@pytest.mark.parametrize("name", ["stops_badly", "stops_badly_later", "StopsBadly", "ChunkStopsBadly"])
def test_a_running_task_that_is_cancelled_and_then_raises_ends_as_cancelled(bench: Bench, name: str) -> None:
    worker = bench.worker()
    handle = getattr(tasks, name).push()
    wait_until(lambda: bench.ledger.lines("start"), say=bench.say)
    handle.cancel(reason="no longer wanted")
    (record,) = bench.wait([handle], "cancelled")
    assert (record.reason, record.error, record.attempt) == ("no longer wanted", b"", 0)
    wait_until(lambda: "was cancelled, and then raised ValueError: no" in worker.text(), say=worker.text)
    assert " failed: " not in worker.text()
    assert len(bench.ledger.lines("start")) == 1


def test_a_task_that_is_cancelled_hard_is_interrupted_where_it_is(bench: Bench) -> None:
    worker = bench.worker()
    child = worker.child()
    handle = tasks.loops.push()
    bench.started(handle)
    handle.cancel("enough", hard=True)
    (record,) = bench.wait([handle], "cancelled")
    assert record.reason == "enough"
    assert len(bench.ledger.lines("interrupted")) == 1
    assert worker.children() == [child]


def test_one_that_can_not_be_interrupted_dies_with_its_process_whose_other_tasks_run_again(bench: Bench) -> None:
    worker = bench.worker(LEASE=UNHURRIED)
    child = worker.child()
    neighbour, whole = tasks.work.push(3), group(tasks.work.s(600)).push()
    bench.started(neighbour)
    wait_until(lambda: len(bench.ledger.lines("start")) == 2, say=bench.say)
    whole.cancel(hard=True)
    bench.wait([whole], "cancelled")
    wait_until(lambda: bench.broker.client.zcard(bench.broker.keys("default").state("cancelled")) == 2, say=bench.say)
    assert child not in worker.children()
    assert "was cancelled hard and did not end; killing process" in worker.text()
    assert "past its hard limit" not in worker.text()
    (record,) = bench.wait([neighbour])
    assert (record.attempt, record.crashes) == (0, 0)


def test_a_process_is_replaced_after_so_many_tasks(bench: Bench) -> None:
    worker = bench.worker("--max-tasks", "10", LEASE=UNHURRIED)
    bench.wait(tasks.work.push_many([()] * 35))
    assert len({line.pid for line in bench.ledger.lines("end")}) == 4
    assert set(bench.ledger.starts().values()) == {1}
    assert worker.stop() == 0


def test_a_process_that_grew_too_large_is_replaced(bench: Bench) -> None:
    worker = bench.worker("--max-memory", "150")
    child = worker.child()
    bench.wait([tasks.grow.push(150)])
    wait_until(lambda: worker.children() and worker.children() != [child], say=worker.text)
    assert "MB of memory" in worker.text()


def test_a_process_that_ran_so_many_tasks_is_relieved_while_a_long_one_ends_in_it(bench: Bench) -> None:
    worker = bench.worker("--max-tasks", "5", LEASE=UNHURRIED)
    bench.ledger.close("end")
    long = tasks.wait_at_gate.push("end")
    first = bench.started(long)
    bench.wait(tasks.work.push_many([()] * 10))
    assert bench.record(long).state == "locked"
    bench.ledger.open("end")
    bench.wait([long])
    assert bench.ledger.starts()[long.id] == 1
    wait_until(lambda: first.pid not in worker.children())
    assert worker.stop() == 0


def test_a_task_in_a_process_that_grew_too_large_runs_to_its_end_though_longer_than_the_grace_time(
    bench: Bench,
) -> None:
    worker = bench.worker("--max-memory", "150", GRACE=0.2, LEASE=UNHURRIED)
    bench.ledger.close("end")
    long = tasks.grow_at_gate.push(150, "end")
    first = bench.started(long)
    wait_until(lambda: len(worker.children()) == 2, say=worker.text)
    bench.wait(tasks.work.push_many([()] * 20))
    assert first.pid not in {line.pid for line in bench.ledger.lines("end")}
    bench.ledger.open("end")
    bench.wait([long])
    assert bench.ledger.starts()[long.id] == 1


@pytest.mark.parametrize(
    ("name", "text"), [("returns_an_object", "cannot be stored"), ("returns_too_much", "the limit is 1048576")]
)
def test_a_result_that_cannot_be_kept_fails_the_task_at_once(bench: Bench, name: str, text: str) -> None:
    bench.worker()
    (record,) = bench.wait([getattr(tasks, name).push()], "failed")
    assert text in msgspec.json.decode(record.error)["message"]


def test_a_task_that_raises_system_exit_fails_and_the_process_goes_on(bench: Bench) -> None:
    worker = bench.worker()
    child = worker.child()
    bench.wait([tasks.exits.push()], "failed")
    bench.wait([tasks.work.push()])
    assert worker.children() == [child]
