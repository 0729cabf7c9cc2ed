"""A rolling deploy: workers of two versions, each with a Lua library of its own, on one store under load."""

from __future__ import annotations

import signal

import pytest

from queueops.redis.library import PREFIX
from tests.faults import tasks
from tests.faults.conftest import Bench
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults


def libraries(bench: Bench) -> set[bytes]:
    """The libraries of QueueOps on the server."""
    found = bench.broker.client.function_list(f"{PREFIX}*")
    return {row[row.index(b"library_name") + 1] for row in found}


def test_workers_of_two_versions_lose_nothing_and_start_nothing_twice(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.broker.client.function_flush()  # those of other tests
    old = bench.worker()
    handles = tasks.work.push_many([(0.01,)] * 300)
    bench.started(handles[0])
    monkeypatch.setenv("QUEUEOPS_TESTS_LIBRARY", "newer")
    new = bench.worker()
    bench.watchdog()
    wait_until(lambda: len(libraries(bench)) == 2, 60, bench.say)
    for _ in range(5):
        bench.broker.client.function_flush()
        handles += [tasks.work.push(0.01) for _ in range(20)]
    handles += tasks.work.push_many([(0.01,)] * 300)
    wait_until(lambda: {old.child(), new.child()} <= {line.pid for line in bench.ledger.lines()}, 60, bench.say)
    old.signal(signal.SIGTERM)
    handles += [tasks.work.push(0.01) for _ in range(20)]
    bench.wait(handles)
    starts = bench.ledger.starts()
    assert {starts[handle.id] for handle in handles} == {1}
    assert old.popen.wait(60) == 0
