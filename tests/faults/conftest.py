"""A bench for faults: a namespace with short leases, workers to harm, a look at what became of every task."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from queueops.model.records import Record
from queueops.redis.broker import RedisBroker, close_brokers, get_broker
from queueops.results import waiting
from queueops.results.handle import TaskHandle
from tests.faults.layout import GIVES_UP_S, Layout
from tests.faults.processes import Ledger, Line, Worker
from tests.mapreduce import invariants
from tests.support import fork_server, topology
from tests.support.fork_server import ForkServer
from tests.support.waiting import wait_until

LEASE, GRACE = 1.5, 3.0
UNHURRIED = 60
"""A lease so long that no worker takes a task from a slow process, or before a dead one is judged."""


class Bench:
    """What a fault test works with."""

    def __init__(self, directory: Path, settings: dict[str, Any]) -> None:
        self.directory = directory
        self.settings = settings
        self.ledger = Ledger(directory / "ledger")
        self.workers: list[Worker] = []
        self.finished = False
        self.server: ForkServer | None = fork_server.shared

    @property
    def broker(self) -> RedisBroker:
        return get_broker()

    def worker(
        self,
        *arguments: str,
        hang_up: signal.Handlers = signal.SIG_DFL,
        launcher: Sequence[str] = (),
        **settings: Any,
    ) -> Worker:
        """Start a worker of one process and four threads, unless the arguments say otherwise."""
        log = self.directory / f"worker{len(self.workers)}.log"
        given = ("--threads", "4", *arguments) if "--threads" not in arguments else arguments
        server = None if launcher else self.server
        worker = Worker(
            log, self.settings | settings, self.ledger, *given, hang_up=hang_up, server=server, launcher=launcher
        )
        self.workers.append(worker)
        return worker

    def watchdog(self) -> Worker:
        """Start a watchdog of its own."""
        log = self.directory / f"watchdog{len(self.workers)}.log"
        watchdog = Worker(log, self.settings, self.ledger, command="watchdog", server=self.server)
        self.workers.append(watchdog)
        return watchdog

    def record(self, handle: TaskHandle[Any]) -> Record:
        found = self.broker.record(handle.pool, handle.id)
        assert found is not None, f"{handle.id} is gone"
        return found

    def wait(self, handles: Iterable[TaskHandle[Any]], state: str = "succeeded", timeout: float = 240) -> list[Record]:
        """Wait until all are in this state; their records."""
        handles = list(handles)
        wait_until(lambda: all(self.record(handle).state == state for handle in handles), timeout, self.say, every=0.05)
        return [self.record(handle) for handle in handles]

    def started(self, handle: TaskHandle[Any], times: int = 1) -> Line:
        """Wait for a start of a task, and until its worker has said so; its line in the ledger."""
        wait_until(lambda: self.ledger.starts()[handle.id] >= times, say=self.say)
        wait_until(lambda: not self.is_on_its_way(handle), say=self.say)  # or its end would cost nothing
        return [line for line in self.ledger.lines("start") if line.id == handle.id][-1]

    def is_on_its_way(self, handle: TaskHandle[Any]) -> bool:
        """Whether a task was handed to a worker that has not said a word of it yet."""
        record = self.record(handle)
        return record.state == "locked" and record.handed == record.fence

    def lease_end(self, handle: TaskHandle[Any]) -> int:
        """When a lease ends, in ms of the store."""
        return int(self.broker.client.zscore(self.broker.keys(handle.pool).agenda, handle.id) or 0)

    def finish(self) -> None:
        """End the workers and check that every task is where it belongs; once, while the store is still there."""
        for worker in self.workers:
            worker.end()
        if not self.finished:
            self.finished = True
            for pool in self.broker.pools():
                invariants.check(self.broker, pool)

    def say(self) -> str:
        states = self.broker.client.hgetall(self.broker.keys("default").counts)
        logs = "\n".join(f"-- {worker.log.name}\n{worker.text()}" for worker in self.workers)
        return f"{states}\n{self.ledger.lines()[-20:]}\n{logs}"


@pytest.fixture
def bench(namespace: str, tmp_path: Path, settings: Any) -> Iterator[Bench]:
    """Ends its workers, and checks that every task is where it belongs."""
    own = {"LEASE": LEASE, "GRACE": GRACE}
    settings.QUEUEOPS = settings.QUEUEOPS | own
    bench = Bench(tmp_path, own)
    yield bench
    bench.finish()


@pytest.fixture
def real_starts(bench: Bench) -> None:
    """Workers start as a user starts them: for tests of memory, signals, packages and the start itself."""
    bench.server = None


@pytest.fixture(autouse=True)
def ledger_for_this_process(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests import the tasks too."""
    monkeypatch.setitem(os.environ, "QUEUEOPS_TESTS_LEDGER", str(bench.ledger.path))


def use(bench: Bench, settings: Any, url: str) -> None:
    bench.settings["URL"] = url
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": url}


@pytest.fixture
def nodes(bench: Bench, tmp_path: Path, settings: Any) -> Iterator[list[topology.Node]]:
    with topology.cluster(tmp_path) as (url, nodes):
        use(bench, settings, url)
        yield nodes
        bench.finish()
        waiting.close()
        close_brokers()


def pools_apart(bench: Bench) -> list[str]:
    """A pool on each server of the cluster, the default one among them."""
    broker, found = bench.broker, {}
    for pool in ("default", *(f"pool{number}" for number in range(200))):
        found.setdefault(broker.client.get_node_from_key(broker.keys(pool).seq).port, pool)
    assert len(found) == 3
    return list(found.values())


@pytest.fixture
def short_timeout(bench: Bench, settings: Any) -> None:
    """For a test that looks at no clock, and waits itself until a client gives a server up."""
    bench.settings["CONNECT"] = {"socket_timeout": 5.0}
    settings.QUEUEOPS = settings.QUEUEOPS | {"CONNECT": bench.settings["CONNECT"]}


@pytest.fixture(params=[False, True], ids=["a server", "the server that has the list of pools"])
def layout(request: pytest.FixtureRequest, bench: Bench, tmp_path: Path, settings: Any) -> Iterator[Layout]:
    with topology.cluster(tmp_path, "cluster-require-full-coverage no") as (url, nodes):
        if "short_timeout" not in request.fixturenames:
            bench.settings["CONNECT"] = {"socket_timeout": GIVES_UP_S}
            settings.QUEUEOPS = settings.QUEUEOPS | {"CONNECT": bench.settings["CONNECT"]}
        use(bench, settings, url)
        yield Layout(bench.broker, nodes, with_registry=request.param)
        bench.finish()
        waiting.close()
        close_brokers()
