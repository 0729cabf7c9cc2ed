"""Two workers wait: each signal of a run wakes the one that has the run in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from queueops import wf, workflow
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.states import State
from queueops.redis.broker import get_broker, get_role
from tests.support.waiting import wait_until
from tests.worker.test_loop import Running

SIGNALS = 12


@workflow(name="own.listens")
async def listens() -> int:
    """Many signals."""
    return sum([await wf.signal("go") for _ in range(SIGNALS)])


@pytest.fixture
def two(namespace: str) -> Iterator[None]:
    """Two workers."""
    running = [Running(name=name) for name in ("w1", "w2")]
    yield
    for each in running:
        each.end()


@pytest.mark.usefixtures("two")
def test_each_signal_wakes_the_worker_of_the_step_before() -> None:
    broker, store = get_broker(), get_role(WorkflowCalls)
    run = listens.start()
    workers = set()
    for number in range(SIGNALS):
        wait_until(lambda: run.state == State.IDLE and broker.client.zcard(broker.keys("default").idle) == 2)
        row = store.run_row("default", run.id)
        assert row is not None
        workers.add(row.fields["w"])
        run.signal("go", number)
    assert run.result(timeout=60) == sum(range(SIGNALS))
    assert len(workers) == 1
