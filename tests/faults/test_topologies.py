"""The whole engine on a cluster, and on a primary that its sentinels replace: real servers, real workers."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import queueops
from queueops import TaskCancelled, TaskFailed, chain, control, group, inspect, waiting
from queueops.errors import BrokerUnavailable
from queueops.redis.broker import close_brokers
from tests import topology
from tests.faults import tasks
from tests.faults.conftest import Bench
from tests.waiting import wait_until

pytestmark = pytest.mark.faults


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


@pytest.fixture
def primary(bench: Bench, tmp_path: Path, settings: Any) -> Iterator[topology.Node]:
    with topology.sentinel(tmp_path) as (url, primary, _replica):
        use(bench, settings, url)
        yield primary
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


def test_a_cluster_serves_pools_on_all_of_its_servers(bench: Bench, nodes: list[topology.Node]) -> None:
    pools = pools_apart(bench)
    bench.worker(*(part for pool in pools for part in ("--pool", pool)))
    bench.watchdog()
    handles = [handle for pool in pools for handle in tasks.work.using(pool=pool).push_many([(0.01,)] * 40)]
    for node in nodes:
        node.client.script_flush()
    for handle in handles:
        assert handle.result(60)
    assert asyncio.run(handles[-1].aresult(0)) == handles[-1].result(0)
    for pool in pools:
        failed = tasks.returns_an_object.using(pool=pool).push()
        for again in (True, False):
            with pytest.raises(TaskFailed):
                failed.result(60)
            assert not again or failed.retry()
        assert tasks.work.using(pool=pool).postpone(0.3).result(60)
        running = tasks.patient_later.using(pool=pool).push(60)
        bench.started(running)
        assert running.cancel("enough")
        with pytest.raises(TaskCancelled, match="enough"):
            running.result(60)
    assert queueops.get(handles[0].id) == handles[0]
    assert tasks.work.using(durable=True).push().result(60)


def test_a_composite_goes_over_all_servers_of_a_cluster(bench: Bench, nodes: list[topology.Node]) -> None:
    home, north, south = pools_apart(bench)
    for pool in (home, north, south):
        bench.worker("--pool", pool, "--threads", "2")
    echo, page = tasks.echo, tasks.Pages
    tree = chain(
        echo.using(pool=home).s(1),
        group(echo.using(pool=north).s(), chain(echo.using(pool=south).s(), echo.using(pool=home).s()), echo.s()),
        page.using(pool=south).si(4, [home, north, south]),
        echo.using(pool=north).si("end"),
    )
    handles = [tree.push() for _ in range(5)]
    assert [handle.result(60) for handle in handles] == ["end"] * 5
    assert all(handle.progress.done == handle.progress.total == 7 for handle in handles)
    for handle in handles:
        found = inspect.tree(handle.id, handle.pool).root
        assert found is not None
        assert [row.pool for row in found.rows] == [home, home, south, north]
    stuck = chain(echo.using(pool=south).s(1), tasks.patient_later.using(pool=north, id="patient").si(60))
    stuck = stuck.using(pool=home).push()
    wait_until(lambda: bench.ledger.starts()["patient"], 60, bench.say)
    assert stuck.cancel("enough")
    with pytest.raises(TaskCancelled, match="enough"):
        stuck.result(60)


def test_a_worker_finds_its_pool_again_when_its_slot_has_moved(bench: Bench, nodes: list[topology.Node]) -> None:
    worker, keys = bench.worker(), bench.broker.keys("default")
    bench.wait([tasks.work.push()])
    worker.signal_all(signal.SIGSTOP)  # as docs/production.md says: nobody uses a pool while its slot moves
    topology.move_slot(bench.broker.client, keys.seq, nodes)
    worker.signal_all(signal.SIGCONT)
    handles = tasks.work.push_many([(0.01,)] * 20)
    for handle in handles:
        assert handle.result(60)
    bench.wait(handles)


def checked(pool: str, *, repair: bool = False) -> set[tuple[str, str]]:
    """What a whole consistency check of a pool says."""
    found: set[tuple[str, str]] = set()
    step = control.repair if repair else inspect.fsck
    page = step(pool)
    while True:
        found |= {(fault.id, fault.text) for fault in page.faults}
        if not page.next:
            return found
        page = step(pool, page.next)


def test_the_console_and_the_command_line_see_all_of_a_cluster(bench: Bench, nodes: list[topology.Node]) -> None:
    pools = pools_apart(bench)
    handles = [tasks.work.using(pool=pool).push() for pool in pools]
    for pool in pools:
        bench.broker.tick(pool)
        bench.broker.lane(pool, "default", paused=1)
    assert sum(pool.states["pending"] for pool in inspect.snapshot().pools) == 3
    assert {row.id for row in inspect.tasks(inspect.TaskQuery()).rows} == {handle.id for handle in handles}
    assert inspect.why(handles[0].id)
    assert inspect.workers() is not None
    for pool, handle in zip(pools, handles, strict=True):
        bench.broker.client.zrem(bench.broker.keys(pool).state("pending"), handle.id)
        assert checked(pool) == {(handle.id, "it is pending, and not in that index")}
        checked(pool, repair=True)
        assert checked(pool) == set()
    bench.finish()
    for node in nodes:
        node.kill()
    for _ in range(2):
        with pytest.raises(BrokerUnavailable):
            tasks.work.push()
        close_brokers()


def test_work_goes_on_when_the_sentinels_replace_the_primary(bench: Bench, primary: topology.Node) -> None:
    bench.worker()
    bench.wait(tasks.work.push_many([(0.01,)] * 20))
    held = tasks.work.push(1.0)
    bench.started(held)
    assert primary.client.wait(1, 10_000) == 1
    primary.kill()
    handles = []
    wait_until(lambda: handles or push(handles), 60)
    assert handles[0].result(60)
    bench.wait([held, *handles])
    assert bench.workers[0].stop() == 0


def push(handles: list[Any]) -> None:
    try:
        handles.append(tasks.work.push())
    except BrokerUnavailable:
        return
