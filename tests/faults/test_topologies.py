"""The whole engine on a cluster, and on a primary that its sentinels replace: real servers, real workers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.crc import key_slot

import queueops
from queueops import TaskCancelled, TaskFailed, chain, control, group, inspect
from queueops.errors import BrokerUnavailable
from queueops.redis.broker import close_brokers
from queueops.results import waiting
from tests.faults import tasks
from tests.faults.conftest import Bench, pools_apart, use
from tests.support import topology
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults


@pytest.fixture
def pair(bench: Bench, tmp_path: Path, settings: Any) -> Iterator[tuple[topology.Node, topology.Node]]:
    """A primary and its replica."""
    with topology.sentinel(tmp_path) as (url, primary, replica):
        use(bench, settings, url)
        yield primary, replica
        bench.finish()
        waiting.close()
        close_brokers()


@pytest.fixture
def primary(pair: tuple[topology.Node, topology.Node]) -> topology.Node:
    return pair[0]


def test_a_cluster_serves_pools_on_all_of_its_servers(bench: Bench, nodes: list[topology.Node]) -> None:
    pools = pools_apart(bench)
    bench.worker(*(part for pool in pools for part in ("--pool", pool)))
    bench.watchdog()
    handles = [handle for pool in pools for handle in tasks.work.using(pool=pool).push_many([(0.01,)] * 40)]
    for node in nodes:
        node.client.function_flush()
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
    leaves = 1 + 4 + 4 * 3 + 1  # an iterator counts the tasks that it has emitted
    assert [(handle.progress.done, handle.progress.total) for handle in handles] == [(leaves, leaves)] * 5
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
    bench.worker()
    keys = bench.broker.keys("default")
    bench.wait([tasks.work.push()])
    with topology.moving(key_slot(keys.seq.encode()), nodes):
        pass
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


def test_writes_that_a_failover_lost_are_told(bench: Bench, pair: tuple[topology.Node, topology.Node]) -> None:
    bench.watchdog()
    primary, replica = pair
    tasks.work.push_many([()] * 20)
    assert primary.client.wait(1, 10_000) == 1
    with replica.frozen():
        assert primary.client.execute_command("CLIENT", "KILL", "TYPE", "replica") == 1
        tasks.work.push_many([()] * 30)  # acknowledged, and no other server has them
        wait_until(lambda: watched() == 50, 60, bench.say)
        seen = inspect.snapshot().taken_ms
        # A round looks at the servers first, and then at the tasks: the next one has seen the servers with all 50.
        wait_until(lambda: inspect.snapshot().taken_ms > seen, 60, bench.say)
        primary.kill()
    (text,) = wait_until(losses, 120, bench.say)
    assert "Pool default lost data that the store had acknowledged" in text
    assert re.search(r"the new primary lacks the last [\d,]+ bytes", text)
    assert "counter of pushes and starts fell from 50 to 20 after a restart or a failover" in text


def watched() -> int:
    """How many tasks were pending when a watchdog looked last."""
    found = inspect.snapshot()
    return 0 if found.computed else found.states["pending"]


def losses() -> list[str]:
    """What the alarms say of lost data; nothing while the store cannot be read."""
    try:
        return [alarm.text for alarm in inspect.snapshot().alarms if "lost data" in alarm.text]
    except BrokerUnavailable:
        return []
