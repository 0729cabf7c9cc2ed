"""Sentry and OpenTelemetry in real worker processes: what a process holds at its end is sent, also of a dead one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.faults.conftest import Bench
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


def names(items: list[dict[str, object]]) -> list[object]:
    return sorted(str(item["transaction"]) for item in items)


def test_a_worker_that_ends_has_sent_everything(bench: Bench, receiver: Receiver) -> None:
    receiver.slow.clear()
    worker = bench.worker(GRACE=60)
    bench.wait([tasks.add.push(1), tasks.aadd.push(1)])
    bench.wait([tasks.fails.push("ada", "hunter2")], "failed")
    receiver.slow.set()
    assert worker.stop() == 0, worker.text()
    assert names(receiver.items("event")) == ["observed.fails"]
    assert names(receiver.items("transaction")) == ["observed.aadd", "observed.add", *["observed.fails"] * 2]
    spans = [json.loads(line) for line in Path(bench.directory / "spans").read_text().splitlines()]
    assert [span["name"] for span in spans] == ["process default"] * 4


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
