"""Tasks that were handed to a worker with its wake-up token: they begin at once, and begin once."""

from __future__ import annotations

import signal

import pytest

from queueops.results.handle import TaskHandle
from tests.faults import tasks
from tests.faults.conftest import Bench
from tests.faults.processes import Worker
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults
HANDED_S = 2.0


def handed(bench: Bench, seconds: float = 0.0) -> TaskHandle[int]:
    """A task that was handed over: its first lease has the number of its push. Any other ran before."""

    def push() -> TaskHandle[int] | None:
        handle = tasks.work.push(seconds)
        if bench.record(handle).fence == handle.uid:
            return handle
        bench.wait([handle])
        return None

    return wait_until(push, say=bench.say)


def freeze_while_it_waits(bench: Bench, worker: Worker) -> None:
    """Stop all its processes at a moment at which it is known to wait."""

    def freeze() -> bool:
        worker.signal_all(signal.SIGSTOP)
        if bench.broker.client.zcard(bench.broker.keys("default").idle):
            return True
        worker.signal_all(signal.SIGCONT)
        return False

    wait_until(freeze, say=bench.say)


def test_a_task_that_was_handed_over_keeps_its_lease_for_as_long_as_it_runs(bench: Bench) -> None:
    bench.worker()

    def kept() -> bool:
        """On a slow machine a worker may take up a task too late, and give it back."""
        (record,) = bench.wait([handed(bench, 2 * HANDED_S)])
        assert (record.crashes, record.handed) == (0, None)
        assert bench.ledger.starts()[record.id] == 1
        return record.fence == record.uid

    wait_until(kept, say=bench.say)


def test_a_frozen_worker_gives_back_what_it_was_handed_and_does_not_begin_it_later(bench: Bench) -> None:
    frozen = bench.worker()
    freeze_while_it_waits(bench, frozen)
    handle = handed(bench)
    bench.worker()
    (record,) = bench.wait([handle])
    assert (record.crashes, record.attempt) == (0, 0)
    frozen.signal_all(signal.SIGCONT)
    wait_until(lambda: "came too late" in frozen.text(), say=bench.say)
    assert bench.ledger.starts()[handle.id] == 1


def test_what_was_handed_to_a_worker_that_is_killed_runs_elsewhere(bench: Bench) -> None:
    gone = bench.worker()
    freeze_while_it_waits(bench, gone)
    handle = handed(bench)
    gone.signal_all(signal.SIGKILL)
    bench.worker()
    (record,) = bench.wait([handle])
    assert (record.crashes, bench.ledger.starts()[handle.id]) == (0, 1)
