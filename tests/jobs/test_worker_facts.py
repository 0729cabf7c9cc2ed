"""The heartbeat of a worker says what it serves of jobs, and how full its disk is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from queueops import inspect
from queueops.kinds.jobs import disk_guard
from queueops.kinds.jobs.worker_facts import facts
from queueops.redis.broker import get_broker
from queueops.worker import WorkerOptions
from queueops.worker.execution.thread_executor import ThreadExecutor
from queueops.worker.heartbeat import Heartbeat, WorkDone
from queueops.worker.loop.progress_buffer import ProgressBuffer
from queueops.worker.shared_slot_table import SlotTable
from tests.console.conftest import client_of, collected, viewer  # noqa: F401  fixtures


@pytest.fixture
def disk(namespace: str, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A storage on a disk that is 87 % full."""
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": {}}
    settings.MEDIA_ROOT = str(tmp_path)
    monkeypatch.setattr(disk_guard, "used_percent", lambda: 87.4)


@pytest.mark.parametrize(
    ("lanes", "found"),
    [
        ((), {"serves": "jobs and callbacks", "disk": "87 % full"}),
        (("aggr:*",), {"serves": "jobs", "disk": "87 % full"}),
        (("to:*",), {"serves": "callbacks"}),
        (("mail",), {}),
    ],
)
def test_the_role_is_that_of_the_lanes(disk: None, lanes: tuple[str, ...], found: dict[str, str]) -> None:
    assert facts(lanes) == found


def test_a_project_without_jobs_has_no_facts(namespace: str) -> None:
    assert facts(()) == {}


def beat(lanes: tuple[str, ...] = ()) -> None:
    """Send one heartbeat."""
    table = SlotTable(2)
    channel = ProgressBuffer(get_broker())
    executor = ThreadExecutor(1, table, channel, lambda: None, lambda: None)
    try:
        Heartbeat(WorkerOptions(lanes=lanes), executor).send(get_broker(), "w1", ["default"], "live", WorkDone())
    finally:
        executor.close(5)
        table.close()


def of_jobs(row: inspect.WorkerRow) -> dict[str, str]:
    """What the jobs say of a worker; other kinds say something, too."""
    return {name: value for name, value in row.facts if name in ("serves", "disk")}


@pytest.mark.django_db
def test_the_page_of_the_worker_shows_it(disk: None, viewer: Client) -> None:  # noqa: F811
    beat()
    (row,) = inspect.workers()
    assert of_jobs(row) == {"serves": "jobs and callbacks", "disk": "87 % full"}
    page = viewer.get("/ops/workers/w1/").content.decode()
    assert "87 % full" in page
    assert "jobs and callbacks" in page


def test_a_disk_that_cannot_be_measured_ends_no_heartbeat(disk: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> float:
        raise OSError("no disk")

    monkeypatch.setattr(disk_guard, "used_percent", fail)
    beat()
    assert [of_jobs(row) for row in inspect.workers()] == [{}]
