"""What the store and the network may do to a worker: it lives through all of it, and nothing is lost."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from queueops.redis import embedded
from queueops.redis.broker import forget_brokers
from tests.faults import tasks
from tests.faults.conftest import LEASE, UNHURRIED, Bench
from tests.faults.proxy import FaultProxy, Mode
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults

ALWAYS = {"appendfsync": "always"}
"""A busy disk makes the server put off its writes for up to two seconds, which a kill -9 then loses."""


@pytest.fixture
def own_store(bench: Bench, empty_directory: Path, settings: Any) -> Iterator[embedded.Server]:
    """A server for this test alone, which may do to it what it likes."""
    server = embedded.start(empty_directory, options=ALWAYS)
    bench.settings["URL"] = server.url
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": server.url}
    yield server
    embedded.start(empty_directory)
    bench.finish()
    forget_brokers()


@pytest.fixture
def proxy(bench: Bench, tmp_path: Path, store: embedded.Server) -> Iterator[FaultProxy]:
    """Stands between the workers and the shared server; the test itself has the direct way."""
    proxy = FaultProxy(store.socket, tmp_path / "proxy.sock")
    bench.settings["URL"] = f"unix://{proxy.path}"
    yield proxy
    bench.finish()
    proxy.close()


def starts_of(bench: Bench, handles: list[Any]) -> set[int]:
    starts = bench.ledger.starts()
    return {starts[handle.id] for handle in handles}


def test_the_functions_are_forgotten_again_and_again(bench: Bench) -> None:
    bench.worker()
    handles = tasks.work.push_many([(0.01,)] * 200)
    for _ in range(20):
        bench.broker.client.function_flush()
        time.sleep(0.02)
    bench.wait(handles)
    assert starts_of(bench, handles) == {1}


def test_all_connections_are_killed_again_and_again(bench: Bench) -> None:
    worker = bench.worker()
    handles = tasks.work.push_many([(0.01,)] * 200)
    for _ in range(10):
        bench.broker.client.client_kill_filter(_type="normal", skipme=True)
        time.sleep(0.1)
    records = bench.wait(handles)
    assert {record.crashes for record in records} == {0}
    assert worker.stop() == 0


@pytest.mark.parametrize("seconds", [0.5, 3 * LEASE])
def test_the_server_is_killed_and_started_again(bench: Bench, own_store: embedded.Server, seconds: float) -> None:
    worker = bench.worker()
    child = worker.child()
    handles = tasks.work.push_many([(0.02,)] * 200)
    wait_until(lambda: len(bench.ledger.lines("end")) > 20, say=bench.say)
    os.kill(own_store.pid, signal.SIGKILL)
    time.sleep(seconds)
    embedded.start(own_store.directory, options=ALWAYS)
    records = bench.wait(handles)
    assert {record.crashes for record in records} == {0}
    assert worker.children() == [child]
    assert worker.stop() == 0
    assert "Pool default: a round trip failed, and is tried until it works: The store at unix:" in worker.text()
    assert "Pool default works again" in worker.text()


def test_a_task_that_ends_while_the_server_is_away_is_settled_later(bench: Bench, own_store: embedded.Server) -> None:
    bench.worker()
    handle = tasks.work.push(1)
    bench.started(handle)
    os.kill(own_store.pid, signal.SIGKILL)
    wait_until(lambda: bench.ledger.lines("end"))
    embedded.start(own_store.directory, options=ALWAYS)
    bench.wait([handle])
    assert starts_of(bench, [handle]) == {1}


def test_a_task_that_an_outage_has_stopped_runs_again(bench: Bench, own_store: embedded.Server) -> None:
    """An async task is stopped when its lease may be another's; no worker has it, so its own end must not count."""
    bench.worker()
    bench.ledger.close("end")
    handle = tasks.wait_at_gate_later.push("end")
    bench.started(handle)
    os.kill(own_store.pid, signal.SIGKILL)
    wait_until(lambda: bench.ledger.lines("stopped"), say=bench.say)
    bench.ledger.open("end")
    embedded.start(own_store.directory, options=ALWAYS)
    (record,) = bench.wait([handle])
    assert (record.state, record.attempt, record.crashes) == ("succeeded", 0, 0)
    assert starts_of(bench, [handle]) == {2}


@pytest.mark.parametrize("count", [1, 5])
def test_replies_are_lost(bench: Bench, proxy: FaultProxy, count: int) -> None:
    worker = bench.worker()
    worker.child()
    bench.wait([tasks.work.push()])
    proxy.lose_replies(count)
    handles = tasks.work.push_many([(0.005,)] * 100)
    records = bench.wait(handles)
    assert proxy.cut == count
    assert {(record.crashes, record.attempt) for record in records} == {(0, 0)}


def test_leases_that_end_in_a_blackhole_are_taken_by_others(bench: Bench, proxy: FaultProxy) -> None:
    cut_off = bench.worker(CONNECT={"socket_timeout": 1.0})
    handle = tasks.patient.push(4 * LEASE)
    bench.started(handle)
    proxy.mode = Mode.BLACKHOLE
    bench.settings["URL"] = bench.broker.settings.url
    other = bench.worker(LEASE=UNHURRIED)
    bench.started(handle, times=2)
    proxy.mode = Mode.PASS
    (record,) = bench.wait([handle])
    assert record.crashes == 1
    assert other.stop() == 0
    again = tasks.work.push()
    bench.wait([again])
    assert cut_off.stop() == 0


def test_a_full_store_still_lets_workers_drain_it(bench: Bench, own_store: embedded.Server) -> None:
    handles = tasks.work.push_many([()] * 300)
    client: redis.Redis = bench.broker.client
    client.config_set("maxmemory", int(client.info("memory")["used_memory"]) - 1)
    bench.worker()
    bench.wait(handles)
    client.config_set("maxmemory", 0)


def test_everything_is_flushed_away(bench: Bench) -> None:
    worker = bench.worker()
    lost = tasks.work.push_many([(0.05,)] * 100)
    bench.started(lost[0])
    bench.broker.client.flushall()
    bench.broker.client.sadd(f"{{{bench.broker.settings.namespace}}}:pools", "default")
    handle = tasks.work.push()
    bench.wait([handle])
    assert worker.stop() == 0


def test_a_process_that_waits_for_a_silent_store_is_not_taken_for_a_silent_one(bench: Bench, proxy: FaultProxy) -> None:
    worker = bench.worker(LEASE=UNHURRIED, CONNECT={"socket_timeout": 4})
    bench.ledger.close("end")
    handle, ending = tasks.wait_at_gate.push("end"), tasks.work.push(1)
    bench.started(handle), bench.started(ending)
    proxy.mode = Mode.BLACKHOLE  # the end of the other task makes the round trip
    wait_until(lambda: "a round trip failed" in worker.text(), say=worker.text)
    proxy.mode = Mode.PASS
    bench.ledger.open("end")
    bench.wait([handle, ending])
    assert "no sign of life" not in worker.text()
