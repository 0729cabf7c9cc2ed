"""A primary that stands still closes no connection: who waits for it goes on with the replica that takes over.

No call gives up by its own timeout here: it is longer than any wait of the tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from queueops.redis.broker import close_brokers
from queueops.results import waiting
from tests.faults import tasks
from tests.faults.conftest import Bench, use
from tests.support import topology
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults
NEVER_S, SOON_S = 300, 60


class Pair:
    """A primary with its replica, and the pool on them."""

    def __init__(self, primary: topology.Node, replica: topology.Node, pool: str) -> None:
        self.primary, self.replica, self.pool = primary, replica, pool

    def has_failed_over(self) -> bool:
        try:
            return bool(self.replica.client.info("replication")["role"] == "master")
        except redis.ConnectionError:  # sentinels cut the connections of a replica that becomes the primary
            return False


@pytest.fixture(params=["sentinel", "cluster"])
def pair(request: pytest.FixtureRequest, bench: Bench, tmp_path: Path, settings: Any) -> Iterator[Pair]:
    bench.settings["CONNECT"] = {"socket_timeout": NEVER_S}
    settings.QUEUEOPS = settings.QUEUEOPS | {"CONNECT": bench.settings["CONNECT"]}
    if request.param == "sentinel":
        with topology.sentinel(tmp_path) as (url, primary, replica):
            use(bench, settings, url)
            yield Pair(primary, replica, "default")
            close(bench)
        return
    short = f"cluster-node-timeout {topology.TIMEOUT_MS}"
    with topology.cluster(tmp_path, short, "cluster-require-full-coverage no") as (url, nodes):
        use(bench, settings, url)
        at = bench.broker.servers.name(bench.broker.keys("default").prefix)
        primary = next(node for node in nodes if at.endswith(f":{node.port}"))
        with topology.replica_of(tmp_path / "replica", primary, short) as replica:
            yield Pair(primary, replica, "default")
            close(bench)


def close(bench: Bench) -> None:
    bench.finish()
    waiting.close()
    close_brokers()


def test_an_idle_worker_starts_tasks_of_the_replica_that_took_over(bench: Bench, pair: Pair) -> None:
    bench.worker()
    bench.wait(tasks.work.push_many([()] * 5))
    with pair.primary.frozen():
        wait_until(pair.has_failed_over, 60)
        after = tasks.work.push_many([()] * 5)
        bench.wait(after, timeout=SOON_S)


def test_a_busy_worker_goes_on_with_the_replica_that_took_over(bench: Bench, pair: Pair) -> None:
    bench.worker()
    bench.ledger.close("end")
    held = [tasks.wait_at_gate.push("end") for _ in range(2)]
    for each in held:
        bench.started(each)
    assert pair.primary.client.wait(1, 10_000) == 1
    with pair.primary.frozen():
        bench.ledger.open("end")
        wait_until(pair.has_failed_over, 60)
        bench.wait([*held, *tasks.work.push_many([()] * 5)], timeout=SOON_S)
