"""Django's tasks in real workers: one that dies, one that an operator cancels while it runs."""

from __future__ import annotations

from typing import Any

import pytest

from queueops.contrib.django_tasks import WorkerLost
from queueops.errors import TaskCancelled
from queueops.results.handle import TaskHandle
from tests.faults import django_tasks, tasks
from tests.faults.conftest import UNHURRIED, Bench

pytestmark = pytest.mark.faults

assert tasks.django_tasks is django_tasks, "the workers import them with the others"


@pytest.fixture(autouse=True)
def backend(settings: Any) -> None:
    settings.TASKS = {"default": {"BACKEND": "queueops.contrib.django_tasks.QueueOpsBackend", "QUEUES": []}}


def test_a_start_that_was_killed_is_an_attempt_of_the_process_that_died(bench: Bench) -> None:
    worker = bench.worker()
    result = django_tasks.die_once.enqueue()
    bench.wait([TaskHandle(result.id)])
    result.refresh()
    assert result.attempts == 2
    assert result.return_value == [2, result.worker_ids]
    assert len(set(result.worker_ids)) == 2
    (error,) = result.errors
    assert error.exception_class is WorkerLost
    assert "SIGKILL" in error.traceback
    assert result.enqueued_at <= result.started_at < result.last_attempted_at <= result.finished_at
    assert worker.stop() == 0


def test_a_running_task_that_is_interrupted_by_an_operator_has_failed_and_its_worker_tells(bench: Bench) -> None:
    worker = bench.worker(LEASE=UNHURRIED)
    bench.ledger.close("end")
    result = django_tasks.wait_at_gate.enqueue("end")
    handle: TaskHandle[Any] = TaskHandle(result.id)
    bench.started(handle)
    assert handle.cancel("not needed", hard=True)
    bench.wait([handle], "cancelled")
    bench.ledger.open("end")
    result.refresh()
    assert (result.status, result.attempts) == ("FAILED", 1)
    assert [error.exception_class for error in result.errors] == [TaskCancelled]
    assert worker.stop() == 0
    assert f"Task id={result.id} path=tests.faults.django_tasks.wait_at_gate state=FAILED" in worker.text()
