"""Activities whose tasks have limits: they take turns of their keys; what the options say of ids does not apply."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queueops import Retry, activity, control, current, wf, workflow
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.kernel import invariants

pytestmark = pytest.mark.usefixtures("memory")
at_a_time: list[int] = []


@activity(name="wf.limited", limit=2, limit_key="{host}", retries=1, retry=Retry(delay=0))
def limited(host: str, number: int) -> int:
    """The number; the first attempt of one of them fails."""
    broker = get_broker()
    at_a_time.append(broker.client.scard(broker.keys("default").limit("wf.limited", "host", "#active")))
    if number == 3 and current().attempt == 1:
        raise RuntimeError("once more")
    return number


@activity(name="wf.locked", unique="wf:{number}", unique_for=3600)
def locked(number: int) -> int:
    """The number."""
    return number


@activity(name="wf.throttled", throttle=3600)
def throttled(number: int) -> int:
    """The number."""
    return number


@activity(name="wf.debounced", debounce=3600)
def debounced(number: int) -> int:
    """The number."""
    return number


@workflow(name="wf.of_limited")
async def of_limited() -> list[int]:
    """All at a time, as the limit permits."""
    return await asyncio.gather(*(wf.call(limited, "host", number) for number in range(7)))


@workflow(name="wf.of_ids")
async def of_ids() -> list[int]:
    """Each activity twice, with the same arguments."""
    return [await wf.call(each, 1) for each in (locked, throttled, debounced) for _ in range(2)]


@workflow(name="wf.of_a_shut_lane")
async def of_a_shut_lane() -> list[int]:
    """All at a time, in a lane that is paused: two of them have turns."""
    shut = limited.using(lane="shut")
    return await asyncio.gather(*(wf.call(shut, "host", number) for number in range(4)))


def left() -> list[Any]:
    """Keys of limits in the store."""
    broker = get_broker()
    invariants.check(broker, "default")
    return [*broker.client.scan_iter(f"{broker.keys('default').prefix}:limit*", count=10_000)]


def test_activities_take_turns_of_their_key_and_leave_nothing() -> None:
    at_a_time.clear()
    handle = of_limited.push()
    run_worker()
    assert handle.result(timeout=5) == list(range(7))
    assert (len(at_a_time), {1, 2} >= set(at_a_time)) == (8, True)
    assert not left()


def test_what_the_options_of_an_activity_say_of_ids_does_not_apply() -> None:
    handle = of_ids.push()
    run_worker()
    assert handle.result(timeout=5) == [1] * 6


def test_a_run_that_is_cancelled_leaves_no_activity_under_its_key() -> None:
    get_broker().lane("default", "shut", paused="1")
    handle = of_a_shut_lane.push()
    run_worker()
    assert len(left()) == 3
    control.cancel([handle.id])
    run_worker()
    assert not left()
