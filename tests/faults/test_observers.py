"""Sentry and OpenTelemetry in real worker processes: what a process holds at its end is sent, also of a dead one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from queueops.results.handle import TaskHandle
from tests.faults.conftest import Bench
from tests.faults.django_tasks import refused
from tests.observing import tasks
from tests.observing.receiver import Receiver, receiving
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults


@pytest.fixture
def receiver(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """The server of Sentry, which the bench's workers are told of."""
    with receiving() as receiver:
        monkeypatch.setenv("QUEUEOPS_TESTS_SENTRY", receiver.dsn)
        monkeypatch.setenv("QUEUEOPS_TESTS_SPANS", str(bench.directory / "spans"))
        yield receiver
        receiver.slow.set()
        bench.finish()


def test_a_worker_that_ends_has_sent_everything(bench: Bench, receiver: Receiver, settings: Any) -> None:
    settings.TASKS = {"default": {"BACKEND": "queueops.contrib.django_tasks.QueueOpsBackend", "QUEUES": []}}
    receiver.slow.clear()
    worker = bench.worker(GRACE=60)
    bench.wait([tasks.add.push(1), tasks.aadd.push(1)])
    slow = [each.using(timeout=0.2).push() for each in (tasks.slow, tasks.aslow)]
    failing = [tasks.fails.push("ada", "hunter2"), *slow]
    of_django = refused.enqueue().id  # the framework logs its failure as an error
    bench.wait([*failing, TaskHandle(of_django)], "failed")
    receiver.slow.set()
    assert worker.stop() == 0, worker.text()
    events = receiver.items("event")
    by_task = {event["tags"]["queueops.task"]: event["exception"]["values"][-1]["type"] for event in events}
    ids = [*(each.id for each in failing), of_django]
    assert by_task == dict(zip(ids, ("Observed", "SoftTimeout", "SoftTimeout", "ValueError"), strict=True))
    assert len(events) == 4
    assert len(receiver.items("transaction")) == 7
    spans = [json.loads(line) for line in Path(bench.directory / "spans").read_text().splitlines()]
    assert [span["name"] for span in spans] == ["process default"] * 7
    errors = sorted(span["attributes"].get("error.type", "") for span in spans)
    assert errors == ["", "", "ValueError", *["tests.observing.tasks.Observed"] * 2, "timeout", "timeout"]


def test_a_worker_ends_in_order_while_the_server_answers_nothing(bench: Bench, receiver: Receiver) -> None:
    receiver.slow.clear()
    worker = bench.worker(GRACE=60)
    bench.wait([tasks.fails.push("ada", "hunter2")], "failed")
    assert worker.stop() == 0, worker.text()


def test_a_killed_process_is_reported_by_the_one_that_gives_its_tasks_back(bench: Bench, receiver: Receiver) -> None:
    worker = bench.worker(GRACE=60, MAX_CRASHES=1)
    worker.child()
    threads = psutil.Process(worker.pid).num_threads()  # that of the exporter
    handle = tasks.dies.push()
    bench.wait([handle], "failed")
    wait_until(lambda: receiver.items("event"), say=worker.text)
    bench.wait([tasks.add.push(1)])
    assert psutil.Process(worker.pid).num_threads() == threads  # it forks
    assert worker.stop() == 0, worker.text()
    (event,) = receiver.items("event")
    assert event["transaction"] == "observed.dies"
    assert event["tags"]["queueops.task"] == handle.id
    assert event["contexts"]["queueops"]["state"] == "failed"
    (error,) = event["exception"]["values"]
    assert (error["type"], error["value"]) == ("WorkerDied", "its worker process died: SIGKILL")
