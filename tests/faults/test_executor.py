"""A worker with an executor of its own: a process for each task, killed together with the worker and alone."""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from tests.faults import tasks
from tests.faults.conftest import UNHURRIED, Bench
from tests.stores.process_executor import ProcessExecutor
from tests.support.leaks import runs
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults
PATH = f"{ProcessExecutor.__module__}.{ProcessExecutor.__qualname__}"


def test_a_task_runs_once_at_a_time_though_its_worker_is_killed(bench: Bench) -> None:
    """Its process ends with the worker, and it runs again. The two tasks share the crash, so none is charged."""
    worker = bench.worker("--executor", PATH, "--threads", "2", LEASE=UNHURRIED)
    child = worker.child()
    bench.ledger.close("end")
    both = [tasks.wait_at_gate.push("end"), tasks.wait_at_gate_later.push("end")]
    first = [bench.started(handle).pid for handle in both]
    assert child not in first
    os.kill(child, signal.SIGKILL)
    second = [bench.started(handle, times=2).pid for handle in both]
    wait_until(lambda: not any(psutil.pid_exists(pid) and runs(psutil.Process(pid)) for pid in first), say=bench.say)
    bench.ledger.open("end")
    assert [(record.crashes, record.attempt) for record in bench.wait(both)] == [(0, 0), (0, 0)]
    assert list(bench.ledger.starts().values()) == [2, 2]
    assert not set(first) & set(second)
    assert both[0].result(timeout=60) == second[0]
    assert worker.stop() == 0


def test_a_task_that_must_be_killed_takes_no_other_task_with_it(bench: Bench) -> None:
    """Neither one that kills its process, nor one that no interrupt ends. SIGTERM lets the other one end."""
    worker = bench.worker("--threads", "3", EXECUTOR=PATH, LEASE=UNHURRIED, MAX_CRASHES=1, GRACE=60)
    child = worker.child()
    bench.ledger.close("end")
    long = tasks.wait_at_gate.push("end")
    bench.started(long)
    poison, deaf = tasks.poison.push(), tasks.deaf.push()
    (lost,) = bench.wait([poison], "failed")
    (late,) = bench.wait([deaf], "failed")
    assert "its executor lost it: ProcessLost: its process ended with SIGKILL" in lost.reason
    assert b"SoftTimeout" in late.error
    worker.signal(signal.SIGTERM)
    wait_until(lambda: "Shutting down" in worker.text(), say=bench.say)
    assert worker.children() == [child]
    bench.ledger.open("end")
    (record,) = bench.wait([long])
    assert (record.crashes, record.attempt) == (0, 0)
    assert worker.wait() == 0
