"""Workflows without an effect, for `python -m tests.benchmarks.workflows`."""

from __future__ import annotations

import asyncio
import time

from queueops import activity, wf, workflow


@activity(name="measured.nothing", retries=0)
async def nothing(number: int = 0) -> int:
    """Do nothing."""
    return number


@workflow(name="measured.one")
async def one() -> int:
    """One activity."""
    return await wf.call(nothing, 1)


@workflow(name="measured.in_sequence")
async def in_sequence(count: int) -> int:
    """Activities one after the other."""
    for number in range(count):
        await wf.call(nothing, number)
    return count


@workflow(name="measured.at_once")
async def at_once(count: int) -> int:
    """Activities at once."""
    return len(await asyncio.gather(*(wf.call(nothing, number) for number in range(count))))


@workflow(name="measured.sleeps")
async def sleeps() -> None:
    """Sleeps for ten days."""
    await wf.sleep(864_000)


@workflow(name="measured.naps")
async def naps(count: int) -> int:
    """Sleeps for a fifth of a second, a number of times."""
    for _ in range(count):
        await wf.sleep(0.2)
    return count


@workflow(name="measured.echo")
async def echo(count: int) -> None:
    """Tells by its status when the code got each signal, in nanoseconds of the clock of the machine."""
    for _ in range(count):
        number = await wf.signal("ping")
        wf.set_status([number, wf.side_effect(time.monotonic_ns)])
