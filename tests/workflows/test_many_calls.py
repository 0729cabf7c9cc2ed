"""Many calls of one step: the store begins them in slices, and none is lost or begins after it was given up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queueops import activity, control, wf, workflow
from queueops.kinds.workflows import steps
from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.testing import run_worker

pytestmark = pytest.mark.usefixtures("namespace")

COUNT = 700
FIRST = 2 * steps.AT_ONCE
"""The call that settles a step begins another slice, which is due at once."""


@activity(name="many.same", retries=0)
def same(number: int) -> int:
    """Do nothing."""
    return number


@workflow(name="many.at_once")
async def at_once(count: int) -> int:
    """Calls them all in one step."""
    return sum(await asyncio.gather(*(wf.call(same, number) for number in range(count))))


@workflow(name="many.gives_up", priority=10)
async def gives_up(count: int) -> int:
    """Gives up all but the first, at the first signal."""
    calls = [asyncio.ensure_future(wf.call(same, number)) for number in range(count)]
    await wf.signal("enough")
    for call in calls[1:]:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    return len(calls)


@workflow(name="many.fails", priority=10)
async def fails(count: int) -> int:
    """Fails at a signal, the first time."""
    calls = [asyncio.ensure_future(wf.call(same, number)) for number in range(count)]
    if await wf.signal("go on") == "fail":
        raise ValueError("not now")
    return sum(await asyncio.gather(*calls))


def one_step() -> None:
    """The worker makes the step of a run, which comes before the activities."""
    assert run_worker(until_idle=False) == 1


def hold_back(run: Any) -> None:
    """No further call of a run begins, for a while."""
    keys = get_broker().keys("default")
    assert get_broker().client.zadd(keys.agenda, {f"~calls:{run.id}": 4e12}, xx=True, ch=True) == 1


def begun(run: Any) -> int:
    """How many activities of a run have a record."""
    keys = get_broker().keys("default")
    return sum(b"#" not in key for key in get_broker().client.keys(f"{keys.prefix}:task:{run.id}.*"))


def waiting(run: Any) -> int:
    """How many calls of a run wait to begin."""
    return int(get_broker().client.zcard(f"{get_broker().keys('default').task(run.id)}#later"))


def test_the_calls_of_a_step_begin_in_slices_and_all_end() -> None:
    run = at_once.start(COUNT)
    one_step()
    assert (begun(run), waiting(run)) == (FIRST, COUNT - FIRST)
    get_broker().tick("default", 10)
    assert (begun(run), waiting(run)) == (COUNT, 0)
    run_worker()
    assert run.result(timeout=0) == sum(range(COUNT))
    assert (begun(run), waiting(run)) == (COUNT, 0)


def test_a_call_that_is_given_up_before_it_begins_never_begins() -> None:
    run = gives_up.start(COUNT)
    one_step()
    run.signal("enough")
    hold_back(run)
    one_step()
    assert waiting(run) == 0
    run_worker()
    assert run.state is State.SUCCEEDED
    assert begun(run) == FIRST


def test_what_has_not_begun_when_a_run_is_terminated_never_begins() -> None:
    run = at_once.start(COUNT)
    one_step()
    assert run.terminate()
    run_worker()
    get_broker().tick("default")
    assert (run.state, begun(run)) == (State.CANCELLED, FIRST)
    control.delete([run.id])
    assert waiting(run) == 0


def test_what_has_not_begun_when_a_run_fails_begins_when_it_is_retried() -> None:
    run = fails.start(COUNT)
    one_step()
    run.signal("go on", "fail")
    hold_back(run)
    one_step()
    assert (run.state, waiting(run)) == (State.FAILED, COUNT - FIRST)
    get_broker().tick("default")
    assert begun(run) == FIRST
    run.retry()
    run_worker()
    assert run.state is State.FAILED  # by the same signal
    assert begun(run) == COUNT


def test_what_has_not_begun_when_a_run_is_reset_begins_for_the_next_run() -> None:
    run = fails.start(COUNT)
    one_step()
    run.signal("go on", "well")
    hold_back(run)
    length = len(run.history())
    one_step()
    again = run.reset(length + 1, "once more")
    run_worker()
    assert again.result(timeout=0) == sum(range(COUNT))
    assert begun(run) == COUNT
