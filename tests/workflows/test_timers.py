"""Timers of runs: what becomes of them on the agenda, and in the history."""

from __future__ import annotations

import asyncio

import pytest

from queueops import wf, workflow
from queueops.errors import TaskCancelled
from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.workflows.test_end_to_end import agenda, kinds
from tests.workflows.test_runs import add, approval

pytestmark = pytest.mark.usefixtures("memory")


@workflow(name="wf.timer_twice")
async def cancels_a_timer_twice() -> str:
    """Cancels a timer in a later step, twice."""
    timer = asyncio.ensure_future(wf.sleep(60))
    await wf.call(add, 1, 1)
    timer.cancel()
    timer.cancel()
    await wf.call(add, 1, 1)
    return "cancelled" if timer.cancelled() else "?"


@workflow(name="wf.drops_a_timer")
async def drops_a_timer() -> str:
    """Cancels a timer, and waits for a signal."""
    timer = asyncio.ensure_future(wf.sleep(60))
    await wf.call(add, 1, 1)
    timer.cancel()
    return str(await wf.signal("go"))


def test_a_cancelled_run_leaves_no_timer() -> None:
    run = approval.start(60)
    run_worker()
    assert len(agenda()) == 1
    run.cancel()
    run_worker()
    assert agenda() == []
    with pytest.raises(TaskCancelled):
        run.result(timeout=0)


def test_a_timer_that_is_cancelled_twice_is_dropped_once() -> None:
    run = cancels_a_timer_twice.start()
    run_worker()
    assert run.result(timeout=0) == "cancelled"
    assert (kinds(run).count("timer"), kinds(run).count("drop")) == (1, 1)
    assert agenda() == []


def test_a_timer_that_is_dropped_leaves_the_agenda_while_its_run_goes_on() -> None:
    run = drops_a_timer.start()
    run_worker(until_idle=False)
    assert len(agenda()) == 1
    run_worker()
    assert (run.state, agenda()) == (State.IDLE, [])
    run.signal("go", "on")
    run_worker()
    assert run.result(timeout=0) == "on"


def test_a_timer_that_fires_in_the_step_that_drops_it_does_no_harm() -> None:
    run = approval.start(60)
    run_worker()
    run.signal("approve", "in time")
    broker = get_broker()
    broker.client.zadd(broker.keys("default").agenda, {f"~timer:1:{run.id}": 1})
    run_worker()
    assert run.result(timeout=0) == "in time"
    assert kinds(run) == ["step", "timer", "step", "signal", "fired", "drop", "end"]
