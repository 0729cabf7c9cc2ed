"""Consistency check of runs: what was lost with a record is found, and the run goes on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from queueops.errors import TaskFailed
from queueops.kinds.workflows.steps import kept_runs
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.workflows.test_runs import approval, sums


@pytest.fixture(autouse=True)
def _clean(namespace: str) -> Iterator[None]:
    kept_runs.clear()
    yield
    kept_runs.clear()


def found(*, repair: bool = False) -> list[str]:
    """What the check of the pool says."""
    texts, after = [], ""
    while True:
        page = get_broker().check("default", after, repair=repair)
        texts += [fault.text for fault in page.faults]
        after = page.next
        if not after:
            return texts


def test_a_healthy_run_has_no_finding() -> None:
    approval.start(60.0)
    sums.start(2)
    run_worker(until_idle=False)
    run_worker(until_idle=False)
    assert found() == []


def test_a_run_whose_activity_was_lost_is_told_so() -> None:
    run = sums.start(1)
    run_worker(until_idle=False)
    broker = get_broker()
    broker.client.delete(broker.keys("default").task(f"{run.id}.1"))
    assert f"it waits for {run.id}.1, which is gone" in found(repair=True)
    run_worker()
    with pytest.raises(TaskFailed, match="its end was lost"):
        run.result(timeout=0)


def test_a_lost_timer_comes_back() -> None:
    run = approval.start(60.0)
    run_worker()
    broker = get_broker()
    broker.client.zrem(broker.keys("default").agenda, f"~timer:1:{run.id}")
    assert found(repair=True) == ["its timer 1 is not on the agenda"]
    assert found() == []
