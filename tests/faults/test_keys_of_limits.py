"""A worker that is killed gives back the turns of the keys of its tasks, and of its chunks."""

from __future__ import annotations

import signal

import pytest

from tests.faults import tasks
from tests.faults.conftest import Bench
from tests.faults.counts import Shared
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults


def test_a_killed_worker_gives_its_turn_back_when_its_lease_ends(bench: Bench) -> None:
    bench.ledger.close("work")
    lost = bench.worker(LEASE=1.0)
    first, second = (tasks.wait_at_gate.using(limit=1).push("work") for _ in range(2))
    bench.started(first)
    lost.signal_all(signal.SIGKILL)
    lost.wait()
    keys = bench.broker.keys("default")
    assert bench.broker.client.smembers(keys.limit(tasks.wait_at_gate.name, "*", "#active")) == {first.id.encode()}
    bench.worker(LEASE=1.0)
    bench.started(second)
    assert bench.broker.client.scard(keys.limit(tasks.wait_at_gate.name, "*", "#active")) == 1
    bench.ledger.open("work")
    records = bench.wait([first, second])
    assert [record.crashes for record in records] == [1, 0]
    assert not [*bench.broker.client.scan_iter(f"{keys.prefix}:limit*", count=10_000)]


def test_chunks_of_two_tasks_share_a_limit_and_a_killed_worker_gives_their_turns_back(bench: Bench) -> None:
    bench.ledger.close("chunks")
    lost = bench.worker(LEASE=1.0)
    handles = [Shared.using(limit=2).push(3) for _ in range(2)]
    wait_until(lambda: len(bench.ledger.lines("chunk")) == 2, say=bench.say)
    keys = bench.broker.keys("default")
    active = keys.limit(Shared.name, "*", "#active")
    held = bench.broker.client.smembers(active)
    assert held == {line.id.encode() for line in bench.ledger.lines("chunk")}
    lost.signal_all(signal.SIGKILL)
    lost.wait()
    assert bench.broker.client.smembers(active) == held
    bench.worker(LEASE=1.0)
    bench.worker(LEASE=1.0)
    wait_until(lambda: len(bench.ledger.lines("chunk")) == 4, say=bench.say)
    assert bench.broker.client.scard(active) == 2
    bench.ledger.open("chunks")
    bench.wait(handles)
    assert [len(handle.result()) for handle in handles] == [3, 3]
    assert not [*bench.broker.client.scan_iter(f"{keys.prefix}:limit*", count=10_000)]
