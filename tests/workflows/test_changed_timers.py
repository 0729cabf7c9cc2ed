"""Timers with another duration in new code: the recorded time holds, and the run goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from queueops import wf
from queueops.errors.workflows import NotDeterministic
from queueops.kinds.workflows import events
from queueops.kinds.workflows.events import Entry
from queueops.kinds.workflows.steps import kept_runs
from queueops.model.states import State
from queueops.testing import run_worker
from tests.support.for_each import for_each
from tests.support.waiting import wait_until
from tests.workflows.test_blocked import _clean, behaviour, changes
from tests.workflows.test_replay import execution, first_step, written

Code = Callable[[float], Coroutine[Any, Any, str]]
__all__ = ["_clean"]


async def sleeps(seconds: float) -> str:
    await wf.sleep(seconds)
    return f"rested until {wf.now().timestamp():.0f}"


async def limits(seconds: float) -> str:
    try:
        async with asyncio.timeout(seconds):
            await wf.signal("go")
    except TimeoutError:
        return f"timed out at {wf.now().timestamp():.0f}"
    return "went"


async def waits_for(seconds: float) -> str:
    try:
        await asyncio.wait_for(wf.signal("go"), seconds)
    except TimeoutError:
        return f"timed out at {wf.now().timestamp():.0f}"
    return "went"


@for_each("code", [sleeps, limits, waits_for])
@for_each("seconds", [5, 3_600])
def test_a_recorded_time_holds_whatever_the_code_says_now(code: Code, seconds: float) -> None:
    history = first_step(partial(code, 60))  # at 1 s
    changed = execution(partial(code, seconds))
    changed.replay(history)
    assert [(entry.at_ms, at) for entry, at in changed.changed_timers()] == [(61_000, 1_000 + 1000 * seconds)]
    step = changed.advance(61_200, [Entry("fired", command=1)])
    assert (step.state, step.result.decode().strip('"').rpartition(" ")[2]) == ("succeeded", "61")
    assert changed.changed_timers() == []


@pytest.mark.parametrize("code", [limits, waits_for])
def test_a_limit_with_another_duration_is_dropped_when_its_wait_ends(code: Code) -> None:
    changed = execution(partial(code, 5))
    changed.replay(first_step(partial(code, 60)))
    step = changed.advance(2_000, [Entry("signal", name="go")])
    assert [(entry.kind, entry.command) for entry in step.commands] == [("drop", 1), ("end", 0)]


def test_a_whole_history_with_other_durations_is_repeated() -> None:
    async def code(first: float, second: float) -> None:
        await wf.sleep(first)
        await wf.sleep(second)

    history = first_step(partial(code, 60, 60))
    one = execution(partial(code, 60, 60))
    one.replay(history)
    fired = Entry("fired", command=1)
    history += written(one.advance(61_000, [fired]), fired)
    changed = execution(partial(code, 10, 3_600))
    changed.replay(history)
    assert [entry.command for entry, _ in changed.changed_timers()] == [2]
    assert changed.advance(121_000, [Entry("fired", command=2)]).state == "succeeded"


def test_a_new_timer_has_the_duration_of_the_new_code() -> None:
    async def code(seconds: float) -> None:
        await wf.signal("go")
        await wf.sleep(seconds)

    changed = execution(partial(code, 5))
    changed.replay(first_step(partial(code, 60)))
    step = changed.advance(2_000, [Entry("signal", name="go")])
    assert [entry.at_ms for entry in step.commands] == [7_000]


async def listens() -> None:
    await wf.signal("go")


@pytest.mark.parametrize("now", [partial(sleeps, 0), listens])
def test_a_timer_that_the_code_does_not_set_is_a_difference(now: Callable[[], Any]) -> None:
    """A sleep of 0 s sets no timer."""
    with pytest.raises(NotDeterministic, match="Recorded: timer number 1"):
        execution(now).replay(first_step(partial(sleeps, 60)))


def test_a_timer_in_the_place_of_another_command_is_a_difference() -> None:
    history = [events.encode(Entry(events.STEP, at_ms=1_000)), events.encode(Entry("call", command=1, name="wf.x"))]
    with pytest.raises(NotDeterministic, match="Done now: timer number 1"):
        execution(partial(sleeps, 60)).replay(history)


@pytest.mark.usefixtures("namespace")
def test_an_open_run_ends_at_its_recorded_time_by_new_code() -> None:
    behaviour["code"] = partial(limits, 0.05)
    run = changes.start()
    run_worker()
    kept_runs.clear()
    behaviour["code"] = partial(limits, 86_400)
    wait_until(lambda: run_worker() >= 0 and run.state == State.SUCCEEDED)
    assert run.result(timeout=0).startswith("timed out")
    assert [entry.kind for entry in run.history()] == ["step", "timer", "step", "fired", "end"]
