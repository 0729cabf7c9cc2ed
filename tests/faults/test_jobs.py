"""Jobs and callbacks over real HTTP, in worker processes that are killed: limits hold, and nothing is lost."""

from __future__ import annotations

import os
import re
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from queueops import control, inspect, jobs
from queueops.results.handle import TaskHandle
from tests.faults import job_crashes
from tests.faults.conftest import UNHURRIED, Bench
from tests.faults.tasks import echo
from tests.jobs.conftest import LOCAL
from tests.jobs.world import World, count_callbacks, end_back_off
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults


@pytest.fixture
def world(bench: Bench, settings: Any, tmp_path: Path) -> Iterator[World]:
    """A server on which an answer takes 20 ms, and workers that may reach it. No circuit opens for it."""
    own = {"JOBS": LOCAL | {"PARTIAL_DIRECTORY": str(tmp_path / "partial"), "CIRCUIT_FAILURES": 0}, "MAX_CRASHES": 1000}
    bench.settings |= own
    settings.QUEUEOPS = settings.QUEUEOPS | own
    with World(seconds=0.02, refusals=2).serve() as world:
        yield world
        bench.finish()  # while its server is there


def until_delivered(bench: Bench, world: World, handles: list[TaskHandle[Any]]) -> None:
    """Wait until each job has one delivered callback."""

    def is_delivered() -> bool:
        end_back_off()
        return count_callbacks() == {"succeeded": len(handles)}

    wait_until(is_delivered, 120, bench.say, every=0.1)
    world.check_told_once(handles)


def test_a_limit_holds_at_the_target_while_one_of_two_workers_is_killed(bench: Bench, world: World) -> None:
    workers = [bench.worker("--threads", "16") for _ in range(2)]
    handles = jobs.submit_many(
        [world.job(f"shop{number % 3}", limit=2 + number % 3, told="/flaky") for number in range(90)]
    )
    wait_until(lambda: world.downloads.seen.total() > 25, say=bench.say)
    workers[0].signal_all(signal.SIGKILL)
    until_delivered(bench, world, handles)
    assert all(world.downloads.most[f"shop{number}"] <= 2 + number for number in range(3))
    assert max(world.downloads.most.values()) > 1
    assert world.deliveries.seen.total() == len(handles) + extra_attempts(world)


def extra_attempts(world: World) -> int:
    """Attempts of callbacks beyond the first, without those that the target refused."""
    return sum(len(each) - 3 for each in world.attempts().values())


def test_processes_that_are_killed_at_work_lose_no_job_and_no_callback(bench: Bench, world: World) -> None:
    worker = bench.worker("--processes", "2", "--threads", "8")
    handles = jobs.submit_many([world.job(f"shop{number % 5}", limit=8) for number in range(120)])
    wait_until(lambda: world.downloads.seen.total() > 20, say=bench.say)
    killed = 0
    while killed < 5 and count_callbacks()["succeeded"] < len(handles):
        children = worker.children()
        if children:
            os.kill(children[killed % len(children)], signal.SIGKILL)
            killed += 1
        time.sleep(0.2)
    until_delivered(bench, world, handles)
    assert {handle.state for handle in handles} == {"succeeded"}
    assert killed > 1


def test_a_callback_whose_worker_dies_in_the_delivery_is_sent_again_as_it_was(bench: Bench, world: World) -> None:
    worker = bench.worker()
    job = jobs.submit(**world.job("shop", told="/held"))
    wait_until(world.attempts, say=bench.say)
    os.kill(worker.child(), signal.SIGKILL)
    wait_until(lambda: len(next(iter(world.attempts().values()))) == 2, say=bench.say)
    world.gate.set()
    until_delivered(bench, world, [job])


@pytest.mark.parametrize("place", job_crashes.PLACES)
def test_a_crash_at_each_transition_loses_no_job_and_no_callback(
    bench: Bench, world: World, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv(job_crashes.PLACE, place)
    bench.worker()
    handles = jobs.submit_many([world.job("shop", path=f"/file?{number}", limit=2) for number in range(6)])
    until_delivered(bench, world, handles)
    assert Path(f"{bench.ledger.path}.crashed").exists()
    assert {handle.state for handle in handles} == {"succeeded"}
    files = Counter(asked.path for asked in world.server.asked if asked.method == "GET")
    assert len(files) == 6
    assert files.total() <= 6 + 2  # the process that ended had two of them
    assert all(len(each) <= 2 for each in world.attempts().values())


def test_a_backlog_longer_than_the_lease_starts_each_job_once(bench: Bench, world: World) -> None:
    handles = jobs.submit_many([world.job("shop", path=f"/file?{number}", limit=2) for number in range(160)])
    begun = time.monotonic()
    for _ in range(2):
        bench.worker()
    until_delivered(bench, world, handles)
    assert time.monotonic() - begun > bench.settings["LEASE"]
    paths = Counter(asked.path for asked in world.server.asked if asked.method == "GET")
    assert set(paths.values()) == {1}


def test_the_load_of_the_original_ends_as_it_did_there(bench: Bench, world: World) -> None:
    bench.worker("--processes", "2", "--threads", "16", LEASE=UNHURRIED)  # each job runs once
    kinds: list[dict[str, Any]] = [{}, {"path": "/missing"}, {"options": {"mime_type": "image/png"}}]
    handles = jobs.submit_many([world.job(f"a{number % 5}", limit=10, **kinds[number % 3]) for number in range(300)])
    until_delivered(bench, world, handles)
    assert Counter(handle.state for handle in handles) == {"succeeded": 100, "failed": 200}
    assert max(world.downloads.most.values()) <= 10
    rows = inspect.aggregations().rows
    assert [row.counts for row in rows] == [{"succeeded": 20, "failed": 40}] * 5
    (host,) = inspect.destinations().rows
    assert host.counts == {"succeeded": 300}
    bench.workers[0].end()
    counted = {"response.200": 200, "response.mime": 100, "response.404": 100, "callback.delivered": 300}
    assert inspect.job_counts() == counted, bench.workers[0].text()


def test_a_worker_of_downloads_and_one_of_callbacks_share_the_work(bench: Bench, world: World) -> None:
    bench.worker("--lanes", "aggr:*")
    bench.worker("--lanes", "to:*", "--lanes", "mail")
    handles = jobs.submit_many([world.job("shop", limit=8) for _ in range(20)])
    until_delivered(bench, world, handles)
    wait_until(lambda: len(inspect.workers()) == 2, say=bench.say)
    assert sorted(row.lanes for row in inspect.workers()) == [("aggr:*",), ("to:*", "mail")]
    kinds = [kinds_run(worker.text()) for worker in bench.workers]
    assert kinds == [{"download"}, {"callback"}]


def kinds_run(log: str) -> set[str]:
    """Names of the tasks that a worker has run, as its log says."""
    return set(re.findall(r"queueops\.tasks (\S+) \S+ succeeded", log))


@pytest.fixture
def empty_disk() -> Iterator[Path]:
    """A directory on a file system in memory, of which next to nothing is used."""
    with tempfile.TemporaryDirectory(prefix="queueops-tests-", dir="/dev/shm") as name:
        yield Path(name)


def test_a_full_disk_stops_the_claims_and_touches_no_job(
    bench: Bench, world: World, tmp_path: Path, empty_disk: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """The disk counts as full from 1 % on. Then the storage moves to an empty one."""
    data = tmp_path / os.environ.get("PYTEST_XDIST_WORKER", "data")
    monkeypatch.setenv("QUEUEOPS_TESTS_DATA", str(data))
    data.mkdir(mode=0o700)
    (data / "disk").mkdir()
    (data / "media").symlink_to(data / "disk")
    own = bench.settings["JOBS"] | {"DISK_PAUSE": 1, "DISK_RESUME": 1}
    bench.worker(JOBS=own, URL=settings.QUEUEOPS["URL"])
    wait_until(inspect.full_disks, say=bench.say)

    handles = jobs.submit_many([world.job(f"shop{number}", limit=8) for number in range(20)])
    stored = [record_of(bench, handle) for handle in handles]
    other = echo.push(7)
    test = control.send_test_callback(world.server.url("/told"))
    wait_until(lambda: (other.state, test.state) == ("succeeded", "succeeded"), say=bench.say)
    assert [record_of(bench, handle) for handle in handles] == stored
    assert world.downloads.seen.total() == 0

    (data / "link").symlink_to(empty_disk)
    (data / "link").replace(data / "media")
    wait_until(lambda: {handle.state for handle in handles} == {"succeeded"}, 60, bench.say)
    wait_until(lambda: not inspect.full_disks(), say=bench.say)
    assert sum(1 for path in empty_disk.rglob("*") if path.is_file()) == 20


def record_of(bench: Bench, handle: TaskHandle[Any]) -> dict[bytes, bytes]:
    """The whole record of a job."""
    found: dict[bytes, bytes] = bench.broker.client.hgetall(bench.broker.keys("default").task(handle.id))
    return found
