"""Zombies: workers that were frozen past their leases and go on. What their tasks push is refused."""

from __future__ import annotations

import signal

import pytest

from tests.faults import tasks
from tests.faults.conftest import Bench
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults


def test_a_task_that_was_frozen_past_its_lease_pushes_no_child(bench: Bench) -> None:
    frozen = bench.worker()
    bench.ledger.close("way")
    handle = tasks.pushes_at_gate.push("way")
    bench.started(handle)
    frozen.freeze()
    bench.worker()
    bench.started(handle, times=2)
    bench.ledger.open("way")
    bench.wait([handle])
    frozen.signal_all(signal.SIGCONT)
    wait_until(lambda: len(bench.ledger.lines("refused-mail")) == 1, say=bench.say)
    for pool in ("default", "mail"):
        assert len(bench.ledger.lines(f"pushed-{pool}")) == 1
        assert len(bench.ledger.lines(f"refused-{pool}")) == 1
        children = list(bench.broker.client.scan_iter(bench.broker.keys(pool).task("*")))
        assert len([key for key in children if handle.id.encode() not in key]) == 1
