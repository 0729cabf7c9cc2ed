"""A slot that no server of a cluster has, as after a server was forgotten: its pool waits, and no other pool does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import queueops
from queueops import inspect
from queueops.redis.broker import close_brokers
from queueops.results import waiting
from tests.faults import tasks
from tests.faults.conftest import Bench, pools_apart, use
from tests.support import topology
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults


@pytest.fixture
def nodes(bench: Bench, tmp_path: Path, settings: Any) -> Iterator[list[topology.Node]]:
    """A cluster that goes on with the slots that it has."""
    with topology.cluster(tmp_path, "cluster-require-full-coverage no") as (url, nodes):
        use(bench, settings, url)
        yield nodes
        bench.finish()
        waiting.close()
        close_brokers()


def test_a_pool_whose_slot_no_server_has_holds_up_no_other_pool(bench: Bench, nodes: list[topology.Node]) -> None:
    lost, *well = pools_apart(bench)
    tasks.work.using(pool=lost).push()
    queueops.schedules.create(tasks.work.using(pool=well[0]), "@every 1s", id="often")
    slot = topology.slot_of(bench.broker.keys(lost).seq)
    with topology.unassigned(slot, nodes):
        close_brokers()  # as in a process that starts now
        watchdog = bench.watchdog()
        bench.worker(*(part for pool in (lost, *well) for part in ("--pool", pool)))
        for pool in well:
            assert tasks.work.using(pool=pool).push().result(60)
        wait_until(lambda: len(bench.ledger.lines("end")) > 4, say=bench.say)
        assert f"pool {lost}: it is not watched over: no server has the slot of the pool" in watchdog.text()
        found = inspect.snapshot()
        assert {pool.name for pool in found.pools} == set(well)
        assert any(alarm.text.startswith(f"Pool {lost} does not answer") for alarm in found.alarms)
    wait_until(lambda: lost in {pool.name for pool in inspect.snapshot().pools}, say=bench.say)
    queueops.schedules.delete("often")  # it asks all pools
    assert tasks.work.using(pool=lost).push().result(60)
    drawn = bench.broker.keys(lost).sampler
    wait_until(lambda: bench.broker.at(lost).exists(drawn), say=bench.say)
