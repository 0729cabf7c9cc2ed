"""SIGTERM to a real worker: what runs may end, and keeps its lease."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from queueops.redis.broker import get_broker
from tests.faults.processes import Ledger, Worker
from tests.support.waiting import wait_until


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    ledger = Ledger(tmp_path / "ledger")
    monkeypatch.setenv("QUEUEOPS_TESTS_LEDGER", str(ledger.path))
    return ledger


@pytest.fixture
def worker(namespace: str, ledger: Ledger, tmp_path: Path) -> Iterator[Worker]:
    worker = Worker(tmp_path / "worker.log", {"GRACE": 60}, ledger, "--threads", "2")
    yield worker
    worker.end()


def test_a_worker_that_is_told_to_stop_lets_its_running_task_end(worker: Worker, ledger: Ledger) -> None:
    from tests.faults.tasks import wait_at_gate

    ledger.close("end")
    handle = wait_at_gate.push("end")
    wait_until(lambda: ledger.lines("start"), say=worker.text)
    fence = get_broker().record("default", handle.id).fence
    worker.popen.terminate()
    wait_until(lambda: "Shutting down" in worker.text(), say=worker.text)
    ledger.open("end")
    assert worker.wait() == 0
    record = get_broker().record("default", handle.id)
    assert (record.state, record.fence, record.attempt) == ("succeeded", fence, 0)
    assert [line.phase for line in ledger.lines()] == ["start", "end"]
