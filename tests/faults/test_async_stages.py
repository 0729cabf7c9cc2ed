"""Async stages and iterators in real workers: they are cancelled and have limits of time as async tasks have."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from queueops import chain, group
from tests.faults import tasks
from tests.faults.conftest import Bench
from tests.faults.later import StagesLater, StepsLater
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults
STAGES: list[tuple[Any, str]] = [
    (StagesLater, "map"), (StagesLater, "process"), (StagesLater, "reduce"), (StepsLater, "iterate"),
]  # fmt: skip


def test_the_end_of_a_composite_is_signalled_in_the_worker_process_that_ended_it(bench: Bench) -> None:
    worker = bench.worker()
    child = worker.child()
    inner = chain(tasks.work.s(), tasks.work.si()).using(id="inner")
    handle = group(inner, tasks.work.using(pool="other").s()).push()
    other = bench.worker("--pool", "other")
    bench.wait([handle])
    wait_until(lambda: len(bench.ledger.lines("composite-succeeded")) == 2, say=bench.say)
    ends = {line.id: line.pid for line in bench.ledger.lines("composite-succeeded")}
    assert ends.keys() == {"inner", handle.id}
    assert ends["inner"] == child
    assert ends[handle.id] in (child, *other.children())


def test_async_stages_run_in_the_event_loop_of_a_worker(bench: Bench) -> None:
    bench.worker()
    handle = StagesLater.push("none")
    bench.wait([handle])
    assert handle.result() == ["none"]


@pytest.mark.parametrize(("cls", "stage"), STAGES)
def test_an_async_stage_is_cancelled_at_its_next_await(bench: Bench, cls: Any, stage: str) -> None:
    worker = bench.worker()
    child = worker.child()
    handle = cls.push(stage)
    wait_until(lambda: bench.ledger.lines("start"), say=bench.say)
    handle.cancel("enough")
    (record,) = bench.wait([handle], "cancelled")
    assert record.reason == "enough"
    wait_until(lambda: bench.ledger.lines("stopped"), say=bench.say)
    assert worker.children() == [child]


@pytest.mark.parametrize(("cls", "stage"), STAGES)
def test_an_async_stage_has_its_limit_of_time(bench: Bench, cls: Any, stage: str) -> None:
    worker = bench.worker()
    child = worker.child()
    (record,) = bench.wait([cls.using(timeout=0.5).push(stage)], "failed")
    assert msgspec.json.decode(record.error)["type"] == "queueops.errors.SoftTimeout"
    assert len(bench.ledger.lines("stopped")) == 1
    assert worker.children() == [child]
