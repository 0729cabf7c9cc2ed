"""A slot of a cluster that goes to another server while the pool in it is used."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from redis.crc import key_slot

from queueops import inspect
from queueops.conf import BrokerRetry
from queueops.errors import BrokerUnavailable
from queueops.model.contracts import Push
from queueops.redis.broker import RedisBroker
from tests.faults import tasks
from tests.faults.conftest import Bench
from tests.support import topology
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults


def slot_of(bench: Bench) -> int:
    return int(key_slot(bench.broker.keys("default").seq.encode()))


def test_a_push_into_a_moving_slot_is_refused_as_one_to_a_store_that_is_away(
    bench: Bench, nodes: list[topology.Node]
) -> None:
    before = tasks.work.push_many([()] * 20)
    with topology.moving(slot_of(bench), nodes):
        for count in (1, 3, 600):
            with pytest.raises(BrokerUnavailable, match="is being moved to another server"):
                tasks.work.push_many([()] * count)
        with pytest.raises(BrokerUnavailable):
            before[0].cancel()
    after = tasks.work.push_many([()] * 20)
    bench.worker()
    bench.wait([*before, *after])
    assert len(bench.ledger.lines("start")) == 40


def test_a_push_waits_for_the_end_of_a_move(bench: Bench, nodes: list[topology.Node]) -> None:
    tasks.work.push_many([()] * 20)
    patient = RedisBroker(replace(bench.broker.settings, retry=BrokerRetry(attempts=100, budget=60)))
    with ThreadPoolExecutor() as threads:
        with topology.moving(slot_of(bench), nodes):
            refused = asked_elsewhere(nodes)
            pushed = threads.submit(patient.push, [Push(id="a", name="tests.noop")])
            wait_until(lambda: asked_elsewhere(nodes) > refused)
        assert [answer.word for answer in pushed.result(60)] == ["OK"]
    patient.close()


def asked_elsewhere(nodes: list[topology.Node]) -> int:
    """How often a server of the cluster has answered that a key may be on its way to another one."""
    return sum(node.client.info("errorstats").get("errorstat_ASK", {}).get("count", 0) for node in nodes)


def test_a_worker_goes_on_when_the_slot_of_its_pool_has_moved_while_it_worked(
    bench: Bench, nodes: list[topology.Node]
) -> None:
    worker = bench.worker()
    bench.ledger.close("end")
    held = tasks.wait_at_gate.push("end")
    bench.started(held)
    before = tasks.work.push_many([()] * 20)
    with topology.moving(slot_of(bench), nodes):
        wait_until(lambda: "a round trip failed" in worker.text(), say=bench.say)
        bench.ledger.open("end")
    bench.wait([held, *before, *tasks.work.push_many([()] * 20)])
    assert len(bench.ledger.lines("start")) == 41


def test_a_watchdog_follows_a_pool_whose_slot_moves(bench: Bench, nodes: list[topology.Node]) -> None:
    watchdog = bench.watchdog()
    tasks.work.push_many([()] * 20)
    wait_until(lambda: inspect.snapshot().states["pending"] == 20, say=bench.say)
    with topology.moving(slot_of(bench), nodes):
        wait_until(lambda: "the watchdog waits" in watchdog.text(), say=bench.say)
    moved = inspect.now_ms()
    wait_until(lambda: has_drawn_since(moved), 60, bench.say)
    assert "Traceback" not in watchdog.text()


def has_drawn_since(moment: int) -> bool:
    """Whether a watchdog has drawn the figures after this time of the store."""
    found = inspect.snapshot()
    return not found.computed and found.taken_ms > moment
