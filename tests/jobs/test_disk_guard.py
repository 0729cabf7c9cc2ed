"""Downloads wait while the disk is nearly full, without losing an attempt, and an operator sees it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from queueops import control, inspect, jobs
from queueops.kinds.jobs import disk_guard
from queueops.testing import run_worker
from tests.console.conftest import client_of, collected, viewer  # noqa: F401  fixtures
from tests.jobs.conftest import LOCAL
from tests.jobs.servers import LocalServer, serving


@pytest.fixture
def source(namespace: str, settings: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    """A server that has a file, and a storage for it."""
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL}
    settings.MEDIA_ROOT = str(tmp_path)
    monkeypatch.setattr(disk_guard, "_full", set())
    with serving({"/file": lambda exchange: exchange.answer(200, b"x")}) as server:
        yield server


def test_the_disk_of_the_storage_is_measured(source: LocalServer) -> None:
    used = disk_guard.used_percent()
    assert used is not None
    assert 0 < used <= 100


@pytest.mark.django_db
def test_downloads_wait_from_95_percent_until_90_percent(
    source: LocalServer,
    viewer: Client,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = jobs.submit(aggregation="a", url=source.url("/file"))
    states = []
    for used in (95.0, 94.0, 90.1):
        monkeypatch.setattr(disk_guard, "used_percent", lambda used=used: used)
        run_worker()
        found = inspect.task(job.id)
        states.append((found.state, found.attempt))
        control.run_now([job.id])
    assert states == [("postponed", 0)] * 3
    (disk,) = inspect.full_disks()
    assert disk.percent == 90
    assert "is 90 % full" in viewer.get("/ops/aggregations/").content.decode()
    assert source.asked == []
    monkeypatch.setattr(disk_guard, "used_percent", lambda: 90.0)
    run_worker()
    assert (inspect.task(job.id).state, inspect.full_disks()) == ("succeeded", ())


@pytest.mark.django_db
def test_the_guard_can_be_switched_off(source: LocalServer, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL | {"DISK_PAUSE": 0}}
    monkeypatch.setattr(disk_guard, "used_percent", lambda: 100.0)
    job = jobs.submit(aggregation="a", url=source.url("/file"))
    run_worker()
    assert inspect.task(job.id).state == "succeeded"
