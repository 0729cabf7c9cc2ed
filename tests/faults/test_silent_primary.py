"""A primary that stands still closes no connection: who waits for it goes on with the replica that takes over.

No call gives up by its own timeout here: it is longer than any wait of the tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis

from queueops import events
from queueops.errors import BrokerUnavailable
from queueops.events import hub
from queueops.redis import embedded, subscription
from queueops.redis.broker import close_brokers, get_broker
from queueops.redis.events import Tail
from queueops.results import waiting
from queueops.results.handle import TaskHandle
from tests.faults import tasks
from tests.faults.conftest import Bench, use
from tests.faults.proxy import FaultProxy, Mode
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
    hub.close()
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


@pytest.fixture
def only_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """What listens makes no other call by itself, which would find the fault."""
    monkeypatch.setattr(waiting, "RECHECK", NEVER_S)
    monkeypatch.setattr(hub, "RENEW_S", NEVER_S)
    monkeypatch.setattr("queueops.redis.events.RENEW_S", NEVER_S)


def listeners(client: Any, task: TaskHandle[Any]) -> list[int]:
    """How many connections of a server listen for the events of the pool, and for the end of a task."""
    broker = get_broker()
    channels = broker.keys(task.pool).events, broker.done_channel(task.pool, task.id)
    try:
        return [count for _, count in client.pubsub_numsub(*channels)]
    except redis.ConnectionError:
        return []


@pytest.mark.usefixtures("only_messages")
def test_what_listens_hears_an_end_on_the_replica_that_took_over(bench: Bench, pair: Pair) -> None:
    task = tasks.work.push()
    assert pair.primary.client.wait(1, 10_000) == 1
    with ThreadPoolExecutor() as threads, events.follow(name=tasks.work.name, pool="default", kinds=["end"]) as stream:
        result = threads.submit(task.result, 2 * SOON_S)
        wait_until(lambda: listeners(pair.primary.client, task) == [1, 1], 60)
        with pair.primary.frozen():
            wait_until(pair.has_failed_over, 60)
            wait_until(lambda: listeners(pair.replica.client, task) == [1, 1], 60, say=bench.say)
            bench.worker()
            result.result(SOON_S)
            assert next(event for event in stream if event.is_end).state == "succeeded"
        close(bench)


@pytest.mark.usefixtures("only_messages")
def test_what_listens_loses_no_end_that_a_dead_connection_swallowed(
    bench: Bench, store: embedded.Server, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "QUIET_S", 0.1)
    proxy = FaultProxy(store.socket, tmp_path / "proxy.sock")
    direct = redis.Redis(unix_socket_path=str(store.socket))
    bench.worker()
    use(bench, settings, f"unix://{proxy.path}")
    settings.QUEUEOPS = settings.QUEUEOPS | {"CONNECT": {"socket_timeout": 1}}
    bench.ledger.close("end")
    task = tasks.wait_at_gate.push("end")
    followed = closing(Tail(bench.broker, ["default"]))
    with ThreadPoolExecutor() as threads, followed as tail, events.follow(id=task) as stream:
        tailed = threads.submit(list, tail.follow())
        result = threads.submit(task.result, 2 * SOON_S)
        bench.started(task)
        wait_until(lambda: listeners(direct, task) == [2, 1], 60)
        proxy.mode = Mode.BLACKHOLE
        bench.ledger.open("end")
        wait_until(lambda: listeners(direct, task) == [0, 0], 60)
        proxy.mode = Mode.PASS
        result.result(SOON_S)
        assert next(event for event in stream if event.is_end).state == "succeeded"
        assert isinstance(tailed.exception(SOON_S), BrokerUnavailable)
    close(bench)
    direct.close()
    proxy.close()
