"""A worker that is killed gives back the turns of the keys of its tasks."""

from __future__ import annotations

import signal

import pytest

from tests.faults import tasks
from tests.faults.conftest import Bench

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
