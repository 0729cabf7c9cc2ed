"""How a worker ends: in order, at the end of its grace time, at once; and frozen."""

from __future__ import annotations

import signal
import time

import pytest

from queueops.model.contracts import Push
from tests.faults import tasks
from tests.faults.conftest import GRACE, UNHURRIED, Bench
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("real_starts")]


@pytest.mark.parametrize("name", ["work", "work_later"])
def test_sigterm_lets_running_tasks_end(bench: Bench, name: str) -> None:
    worker = bench.worker(GRACE=60)
    handle = getattr(tasks, name).push(1.0)
    bench.started(handle)
    assert worker.stop() == 0
    assert bench.record(handle).state == "succeeded"


def test_a_sigterm_to_all_of_its_processes_is_one_and_no_hurry(bench: Bench) -> None:
    """As systemd sends it unless KillMode says otherwise, and Heroku, and process managers with groups."""
    worker = bench.worker(GRACE=60)
    handle = tasks.work.push(2.0)
    bench.started(handle)
    worker.signal_all(signal.SIGTERM)
    assert worker.wait(90) == 0
    assert "Stopping: tasks may end within 60 s" in worker.text()
    assert bench.record(handle).state == "succeeded"


@pytest.mark.parametrize(
    ("first", "second"),
    [(signal.SIGHUP, signal.SIGHUP), (signal.SIGTERM, signal.SIGHUP), (signal.SIGHUP, signal.SIGTERM)],
    ids=("a closed terminal", "the end of a session", "the end of a shell"),
)
def test_what_is_told_twice_because_a_terminal_or_a_session_ends_is_no_hurry(
    bench: Bench, first: signal.Signals, second: signal.Signals
) -> None:
    """A shell and the system may both say so of a terminal, and systemd sends both to what is left of a session."""
    worker = bench.worker(GRACE=60)
    handle = tasks.work.push(2.0)
    bench.started(handle)
    worker.signal_all(first)
    wait_until(lambda: "Shutting down" in worker.text())
    worker.signal_all(second)
    assert worker.wait(90) == 0
    record = bench.record(handle)
    assert (record.state, record.crashes) == ("succeeded", 0)


def test_a_worker_under_nohup_goes_on_when_its_terminal_is_closed(bench: Bench) -> None:
    worker = bench.worker(hang_up=signal.SIG_IGN)
    first = tasks.work.push(1.0)
    bench.started(first)
    worker.signal_all(signal.SIGHUP)
    bench.wait([first, tasks.work.push()])
    assert worker.stop() == 0
    assert "Stopping" in worker.text()


@pytest.mark.parametrize("name", ["work", "work_later"])
def test_what_does_not_end_within_the_grace_time_is_released(bench: Bench, name: str) -> None:
    worker = bench.worker()
    handle = getattr(tasks, name).push(30)
    bench.started(handle)
    begun = time.monotonic()
    assert worker.stop() == 0
    assert time.monotonic() - begun > GRACE - 0.5
    record = bench.record(handle)
    assert (record.state, record.attempt, record.crashes) == ("pending", 0, 0)


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_releases_at_once(bench: Bench, second: signal.Signals) -> None:
    worker = bench.worker(GRACE=60)
    handle = tasks.work.push(30)
    bench.started(handle)
    worker.signal(signal.SIGTERM)
    wait_until(lambda: "Shutting down" in worker.text())
    worker.signal(second)
    assert worker.wait() == 0
    record = bench.record(handle)
    assert (record.state, record.attempt, record.crashes) == ("pending", 0, 0)


def test_a_frozen_worker_cannot_settle_after_its_lease_was_taken(bench: Bench) -> None:
    frozen = bench.worker()
    bench.ledger.close("end")
    handle = tasks.wait_at_gate.push("end")
    late = bench.started(handle)
    frozen.freeze()
    bench.ledger.open("end")
    other = bench.worker(LEASE=UNHURRIED)
    (record,) = bench.wait([handle])
    frozen.signal_all(signal.SIGCONT)
    wait_until(lambda: any(line.phase == "end" and line.pid == late.pid for line in bench.ledger.lines()))
    wait_until(lambda: "no longer ours" in frozen.text(), say=bench.say)
    assert bench.record(handle).result == record.result
    assert int(record.result) in other.children()
    assert frozen.stop() == 0


def test_burst_ends_when_nothing_is_left(bench: Bench) -> None:
    handles = tasks.work.push_many([()] * 50)
    worker = bench.worker("--burst", "--processes", "2")
    assert worker.wait() == 0
    assert {bench.record(handle).state for handle in handles} == {"succeeded"}


def test_burst_waits_for_back_offs_that_end_soon_and_not_for_what_is_due_later(bench: Bench) -> None:
    later = tasks.work.postpone(60)
    handle = tasks.fails_at_first.push()
    assert bench.worker("--burst").wait() == 0
    assert (bench.record(handle).state, bench.record(handle).result) == ("succeeded", b"4")
    assert bench.record(later).state == "postponed"


def test_a_worker_leaves_the_registry_when_it_ends(bench: Bench) -> None:
    worker = bench.worker()
    keys, client = bench.broker.keys("default"), bench.broker.client
    wait_until(lambda: client.zcard(keys.workers) == 1, say=bench.say)
    assert worker.stop() == 0
    assert client.zcard(keys.workers) == 0


def test_an_unknown_name_waits_for_a_worker_that_knows_it(bench: Bench) -> None:
    bench.worker()
    bench.broker.push([Push(id="later", name="tests.faults.tasks.not_yet_written")])
    neighbour = tasks.work.push()
    bench.wait([neighbour])
    wait_until(lambda: bench.broker.record("default", "later").state == "postponed", say=bench.say)
    record = bench.broker.record("default", "later")
    assert (record.attempt, record.crashes) == (0, 0)
    assert "not_yet_written" in record.reason


def test_tasks_of_a_new_name_are_left_to_the_worker_that_knows_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = bench.broker.keys("default").idle
    monkeypatch.setenv("QUEUEOPS_TESTS_NEW_CODE", "1")
    bench.worker()
    wait_until(lambda: bench.broker.client.zcard(idle) == 1, say=bench.say)
    monkeypatch.delenv("QUEUEOPS_TESTS_NEW_CODE")
    bench.worker()  # the old code, to which tasks are handed: it began to wait last
    wait_until(lambda: bench.broker.client.zcard(idle) == 2, say=bench.say)
    for number in range(5):
        bench.broker.push([Push(id=f"new{number}", name="tests.faults.new")])
        wait_until(lambda id=f"new{number}": bench.broker.record("default", id).state == "succeeded", 60, bench.say)
    client = bench.broker.client
    minutes = client.scan_iter(bench.broker.keys("default").prefix + ":metrics:*")
    flows = [field for minute in minutes for field in client.hgetall(minute)]
    assert b"tr|locked>succeeded" in flows
    assert b"tr|locked>postponed" not in flows  # none has waited for its time
