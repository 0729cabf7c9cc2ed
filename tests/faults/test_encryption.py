"""Encryption at rest with real processes: no value is in clear in the store's keys, nor in its files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from cryptography.fernet import Fernet

from queueops import chain, control, group, jobs, schedules
from queueops.redis.broker import close_brokers
from queueops.redis.client_factory import connect
from queueops.results import waiting
from queueops.testing import run_worker
from tests.faults.conftest import Bench, pools_apart, use
from tests.jobs.conftest import LOCAL
from tests.jobs.world import World, count_callbacks, end_back_off
from tests.redis import encrypted_work as work
from tests.redis.encrypted_work import MARKER, marked
from tests.redis.test_encryption import found_in, has_marker
from tests.support import topology
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults


@pytest.fixture
def world(bench: Bench, settings: Any, tmp_path: Path, empty_directory: Path) -> Iterator[World]:
    """A server for jobs and their callbacks, and a store with a file of its own for workers with a key."""
    own = {"JOBS": LOCAL | {"PARTIAL_DIRECTORY": str(tmp_path / "partial")}, "TASK_MODULES": ["tasks", "encrypted"]}
    own |= {"ENCRYPTION": [Fernet.generate_key().decode()]}
    bench.settings |= own
    settings.QUEUEOPS = settings.QUEUEOPS | own
    use(bench, settings, f"embedded:{empty_directory}")
    with World(seconds=0, refusals=1).serve() as world:
        yield world
        for worker in bench.workers:
            worker.end()
        bench.finished = True  # its invariants know no runs of workflows
        waiting.close()
        close_brokers()


def test_no_value_is_in_clear_in_the_keys_and_the_files_of_the_store(
    bench: Bench, world: World, empty_directory: Path
) -> None:
    bench.worker("--pool", "default", "--pool", "far")
    bench.watchdog()
    plain = [work.echo.using(meta={"m": marked("meta")}).push(marked(str(number))) for number in range(20)]
    failed = work.fails.push(marked("failing"))
    linked = chain(work.echo.s(marked("a")), work.echo.using(pool="far").s(marked("b"))).push()
    grouped = group(work.echo.s(marked("c")), work.echo.s(marked("d"))).push()
    chunked, stepped = work.Chunked.push(marked("chunk")), work.Steps.push(marked("state"))
    running = work.run.start(marked("run"))
    for _ in range(2):
        running.signal("say", marked("signal"))
    schedules.create(work.echo, schedules.Schedule("0 0 1 1 *", args=(marked("schedule"),)), id="encrypted")
    schedules.run_now("encrypted")
    jobs.submit(**world.job("shop", f"/file?{MARKER}", f"/flaky?{MARKER}", extra=marked("extra")))
    bench.wait([*plain, linked, grouped, chunked, stepped])
    bench.wait([failed], "failed")
    assert running.result(timeout=240)[0] == marked("run")

    def is_delivered() -> bool:
        end_back_off()
        return count_callbacks() == {"succeeded": 1}

    wait_until(is_delivered, 240, bench.say, every=0.1)
    assert json.loads(next(asked.body for asked in world.server.asked if asked.method == "POST"))["extra"] == marked(
        "extra"
    )
    assert [each.result()[0] for each in plain] == [[marked(str(number))] for number in range(20)]
    with connect(f"embedded:{empty_directory}") as client:
        assert not found_in(client)
        client.save()
    files = [path for path in empty_directory.rglob("*") if path.is_file()]
    assert any("aof" in path.name for path in files)
    assert [path.name for path in files if has_marker(path.read_bytes())] == []


@pytest.mark.cluster
def test_in_a_cluster_values_cross_from_server_to_server_encrypted(
    bench: Bench, settings: Any, nodes: list[topology.Node]
) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"ENCRYPTION": [Fernet.generate_key().decode()]}
    first, second, third = pools_apart(bench)
    parts = [work.echo.using(pool=pool).s(marked(pool)) for pool in (first, second, third)]
    linked, grouped = chain(*parts).push(), group(*parts).push()
    followed = work.echo.using(pool=first, follow_up={"success": work.echo.using(pool=second).s(1)}).push(marked("a"))
    run_worker()
    assert [each[0] for each in grouped.result(timeout=60)] == [[marked(pool)] for pool in (first, second, third)]
    assert linked.result(timeout=60)[0][0][0][0][0] == [marked(first)]
    assert followed.status().state == "succeeded"
    for node in nodes:
        with redis.Redis(port=node.port) as client:
            assert not found_in(client)
    found = sum((sum(control.reencrypt(pool, dry_run=True), Counter()) for pool in (first, second, third)), Counter())
    assert (found["current"] > 10, found["old"], found["clear"], found["unknown"]) == (True, 0, 0, 0)
    bench.finished = True
