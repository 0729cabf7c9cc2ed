"""Workers of workflows are killed, and the store is: each run ends, and each effect is recorded once."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from queueops import inspect
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.redis import embedded
from queueops.redis.broker import forget_brokers
from tests.faults import sagas
from tests.faults.conftest import Bench, pools_apart
from tests.faults.tasks import echo
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults


def check(runs: dict[int, WorkflowHandle[Any]]) -> None:
    """Each run has its result, and each of its commands has one end in the history."""
    for number, run in runs.items():
        assert run.result(timeout=60) == 6 * number
        ends = Counter(entry.command for entry in run.history() if entry.kind in ("done", "fired"))
        assert set(ends.values()) == {1}
        assert len(ends) == 7


def wait_for(bench: Bench, runs: dict[int, WorkflowHandle[Any]]) -> None:
    wait_until(lambda: all(run.state == "succeeded" for run in runs.values()), 120, bench.say, every=0.1)


def test_sagas_end_each_once_though_their_workers_are_killed(bench: Bench) -> None:
    worker = bench.worker("--processes", "2", LEASE=0.5, MAX_CRASHES=1000)
    runs = {number: sagas.saga.start(number, 0.02) for number in range(30)}
    killed = 0
    while killed < 10:
        time.sleep(0.15)
        children = worker.children()
        if children:
            os.kill(children[killed % len(children)], signal.SIGKILL)
            killed += 1
    wait_for(bench, runs)
    check(runs)


def test_one_worker_makes_the_steps_and_another_runs_the_activities(bench: Bench) -> None:
    steps, activities = bench.worker("--kinds", "workflow"), bench.worker("--kinds", "!workflow")
    runs = [sagas.roles.start(3) for _ in range(10)]
    for run in runs:
        assert {process for _, process in run.result(timeout=60)} == {activities.child()}
        assert {entry.value for entry in run.history() if entry.kind == "side"} == {steps.child()}
    shown = {row.pid: row.kinds for row in inspect.workers()}
    assert shown == {steps.child(): ("workflow",), activities.child(): ("!workflow",)}


def test_a_worker_of_activities_alone_leaves_runs_and_plain_tasks(bench: Bench) -> None:
    bench.worker("--kinds", "activity")
    run, plain = sagas.roles.start(1), echo.push(1)
    wait_until(lambda: any("--kinds" in (each.text or "") for each in inspect.why(run.id)), say=bench.say)
    bench.worker("--kinds", "workflow")
    assert len(run.result(timeout=60)) == 1
    assert plain.state == "pending"


def test_a_worker_that_dies_in_a_decision_step_costs_the_run_nothing(bench: Bench) -> None:
    worker = bench.worker()
    run = sagas.slow_step.start()
    bench.started(run)
    os.kill(worker.child(), signal.SIGKILL)
    assert run.result(timeout=60) == 7
    assert [entry.kind for entry in run.history()] == ["step", "call", "step", "done", "end"]


def test_sagas_go_on_after_the_server_was_killed(bench: Bench, empty_directory: Path, settings: Any) -> None:
    server = embedded.start(empty_directory, options={"appendfsync": "always"})
    bench.settings["URL"] = server.url
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": server.url}
    try:
        bench.worker()
        runs = {number: sagas.saga.start(number, 0.02) for number in range(20)}
        wait_until(lambda: len(bench.ledger.lines("end")) > 10, say=bench.say)
        os.kill(server.pid, signal.SIGKILL)
        time.sleep(0.3)
        embedded.start(empty_directory, options={"appendfsync": "always"})
        wait_for(bench, runs)
        check(runs)
    finally:
        embedded.start(empty_directory)
        bench.finish()
        forget_brokers()


def test_a_thousand_activities_of_one_run_end_each_once(bench: Bench) -> None:
    bench.worker()
    run = sagas.wide.start(1000)
    assert run.result(timeout=60) == 1000
    assert Counter(bench.ledger.starts().values()) == {1: 1000}
    assert Counter(entry.kind for entry in run.history())["done"] == 1000


def test_ten_thousand_activities_of_one_run_end_each_once(bench: Bench) -> None:
    bench.worker("--threads", "8", LEASE=30)
    run = sagas.wide_waves.start(10, 1000)
    assert run.result(timeout=120) == 10_000
    assert Counter(bench.ledger.starts().values()) == {1: 10_000}
    kinds = Counter(entry.kind for entry in run.history())
    assert (kinds["call"], kinds["done"]) == (10_000, 10_000)


def test_ten_thousand_activities_of_one_step_end_each_once(bench: Bench) -> None:
    bench.worker("--threads", "8", LEASE=30)
    run = sagas.wide.start(10_000)
    assert run.result(timeout=120) == 10_000
    assert Counter(bench.ledger.starts().values()) == {1: 10_000}


@pytest.mark.usefixtures("nodes")
def test_runs_call_tasks_in_pools_of_other_servers(bench: Bench) -> None:
    pools = pools_apart(bench)
    runs = [sagas.across.start(pools) for _ in range(20)]
    bench.worker(*(part for pool in pools for part in ("--pool", pool)), LEASE=30)
    assert [run.result(timeout=60) for run in runs] == [33] * 20
    assert Counter(bench.ledger.starts().values()) == {1: 120}


def test_a_step_that_never_yields_is_interrupted_and_tried_again(bench: Bench) -> None:
    bench.worker()
    run = sagas.spins.start()
    wait_until(lambda: "vb" in bench.broker.run_row("default", run.id).fields, 30, bench.say)
    assert "A decision step did not end within 0.5 s" in bench.broker.run_row("default", run.id).fields["y"]
    assert run.result(timeout=60) == 7
    assert [entry.kind for entry in run.history()] == ["step", "call", "step", "done", "end"]
