"""Workflows that write down what happens to them, for tests that kill workers."""

from __future__ import annotations

import asyncio
import os
import threading
import time

from queueops import activity, wf, workflow
from tests.faults.ledger import is_closed, note, noted


@activity(name="faults.reserve", retries=0)
def reserve(number: int, seconds: float = 0.0) -> int:
    """An activity that takes some time."""
    note("start")
    time.sleep(seconds)
    note("end")
    return number


@workflow(name="faults.saga")
async def saga(number: int, seconds: float) -> int:
    """Some activities at once, a timer, then others one after the other."""
    total = sum(await asyncio.gather(*(wf.call(reserve, number, seconds) for _ in range(4))))
    await wf.sleep(0.05)
    for _ in range(2):
        total += await wf.call(reserve, number, seconds)
    return total


@workflow(name="faults.slow_step", timeout=30)
async def slow_step() -> int:
    """A step that takes long: a worker can be killed within it."""
    note("start")
    time.sleep(0.3)
    return await wf.call(reserve, 7)


@activity(name="faults.process_of")
def process_of(number: int) -> list[int]:
    """The process that runs an activity."""
    return [number, os.getpid()]


@workflow(name="faults.roles")
async def roles(count: int) -> list[list[int]]:
    """Steps and activities in turn, each with the process that made it; the last is that of the steps."""
    found = []
    for number in range(count):
        wf.side_effect(os.getpid)
        found.append(await wf.call(process_of, number))
    return found


@workflow(name="faults.wide")
async def wide(count: int) -> int:
    """Many activities at once."""
    return sum(await asyncio.gather(*(wf.call(reserve, 1) for _ in range(count))))


@workflow(name="faults.wide_waves")
async def wide_waves(waves: int, count: int) -> int:
    """Many activities at once, several times."""
    return sum([sum(await asyncio.gather(*(wf.call(reserve, 1) for _ in range(count)))) for _ in range(waves)])


@workflow(name="faults.far_child")
async def far_child(number: int) -> int:
    """A child that calls an activity of its own pool."""
    return await wf.call(reserve.using(pool=wf.info().pool), number)


@workflow(name="faults.across")
async def across(pools: list[str]) -> int:
    """Activities and children in several pools at once."""
    calls = [wf.call(reserve.using(pool=pool), 1) for pool in pools]
    children = [wf.child(far_child.using(pool=pool), 10) for pool in pools]
    return sum(await asyncio.gather(*calls, *children))


@workflow(name="faults.spins", timeout=0.5)
async def spins() -> int:
    """A step that does not yield, the first time."""
    note("start")
    while noted("start") == 1:
        pass
    return await wf.call(reserve, 7)


@workflow(name="faults.wrong_code")
async def wrong_code() -> int:
    """Code that begins a thread, which no workflow may, until the gate `deploy` opens: the code is right then."""
    if is_closed("deploy"):
        threading.Thread(target=note, args=("never",)).start()
    return await wf.call(reserve, 7)
