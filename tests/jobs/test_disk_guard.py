"""Downloads wait while the disk is nearly full, without losing an attempt, and an operator sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from queueops import control, inspect, jobs
from queueops.jobs import job_handler
from queueops.kinds.jobs import disk_guard
from queueops.redis.broker import get_broker
from queueops.tasks import registry
from queueops.testing import run_worker
from queueops.watchdog import Watchdog
from tests.console.conftest import client_of, collected, viewer  # noqa: F401  fixtures
from tests.jobs.conftest import LOCAL
from tests.jobs.servers import LocalServer, serving


@pytest.fixture
def source(namespace: str, settings: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    """A server that has a file, and a storage for it."""
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL}
    settings.MEDIA_ROOT = str(tmp_path)
    monkeypatch.setattr(disk_guard, "_full", set())
    monkeypatch.setattr(disk_guard, "_next_look", {})
    monkeypatch.setattr(disk_guard, "_room_until", {})
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
    told = f"The disk of the storage on {disk.host} is 90 % full: its jobs wait."
    assert [alarm.text for alarm in alarms("disk")] == [told]
    assert alarms("disk")[0].level == "danger"
    assert told in viewer.get("/ops/").content.decode()
    assert source.asked == []
    monkeypatch.setattr(disk_guard, "used_percent", lambda: 90.0)
    run_worker()
    assert (inspect.task(job.id).state, inspect.full_disks()) == ("succeeded", ())
    assert alarms("disk") == []


def test_the_lanes_of_jobs_are_closed_from_95_percent_until_90_percent(
    source: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for used in (94.0, 95.0, 94.0, 90.1, 90.0, 94.0):
        monkeypatch.setattr(disk_guard, "used_percent", lambda used=used: used)
        monkeypatch.setattr(disk_guard, "_next_look", {})
        found.append((disk_guard.closed_lanes("default"), len(inspect.full_disks())))
    closed = (("aggr:*",), 1)
    assert found == [((), 0), closed, closed, closed, ((), 0), ((), 0)]


def test_the_disk_is_not_looked_at_for_each_claim(source: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    monkeypatch.setattr(disk_guard, "used_percent", lambda: looks.append(1) or 96.0)
    assert [disk_guard.closed_lanes("default") for _ in range(100)] == [("aggr:*",)] * 100
    assert len(looks) == 1


def test_the_disk_is_not_looked_at_for_each_download_while_it_has_room(
    source: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []

    def look(used: float) -> Callable[[], float]:
        return lambda: looks.append(used) or used  # type: ignore[func-returns-value]

    monkeypatch.setattr(disk_guard, "used_percent", look(94.0))
    assert [disk_guard.may_start("default") for _ in range(100)] == [True] * 100
    assert looks == [94.0]
    monkeypatch.setattr(disk_guard, "used_percent", look(95.0))
    disk_guard.closed_lanes("default")
    assert [disk_guard.may_start("default") for _ in range(3)] == [False] * 3
    assert looks == [94.0, *[95.0] * 4], "each download looks while it is full"


def test_a_project_with_a_handler_of_its_own_for_downloads_has_no_closed_lanes(
    source: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_guard, "used_percent", lambda: 96.0)
    job_handler("download")(lambda job: None)
    try:
        assert disk_guard.closed_lanes("default") == ()
    finally:
        registry.unregister("job", "download")


def alarms(word: str) -> list[inspect.Alarm]:
    """The alarms with a word, after a watchdog has drawn the snapshot anew."""
    get_broker().client.delete(get_broker().keys("default").sampler)
    watchdog = Watchdog(get_broker(), period_s=0.001)
    watchdog.round()
    watchdog.stop()
    watchdog.run()
    return [alarm for alarm in inspect.status().alarms if word in alarm.text]


def test_a_disk_with_space_is_no_event(source: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_guard, "used_percent", lambda: 10.0)
    job = jobs.submit(aggregation="a", url=source.url("/file"))
    run_worker()
    assert (inspect.task(job.id).state, inspect.full_disks(), alarms("disk")) == ("succeeded", (), [])


def test_a_full_disk_is_one_alarm(source: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_guard, "used_percent", lambda: 96.0)
    for _ in range(3):
        jobs.submit(aggregation="a", url=source.url("/file"))
        run_worker()
    assert (len(inspect.full_disks()), len(alarms("disk"))) == (1, 1)
    assert source.asked == []


@pytest.mark.django_db
def test_the_guard_can_be_switched_off(source: LocalServer, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL | {"DISK_PAUSE": 0}}
    monkeypatch.setattr(disk_guard, "used_percent", lambda: 100.0)
    job = jobs.submit(aggregation="a", url=source.url("/file"))
    run_worker()
    assert inspect.task(job.id).state == "succeeded"
