"""Tasks that sleep, wait for a time, or back off."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from queueops import Retry, current, task

STEP = 0.5
LOOK_AGAIN = 5.0


@task(name="demo.take_a_nap", tags=["waiting"])
def take_a_nap(seconds: float) -> str:
    """Sleep, report progress, and write to the task's log; check at each step whether the task is to be cancelled."""
    context = current()
    steps = max(1, round(seconds / STEP))
    for number in range(steps):
        context.progress(number, steps)
        if number % 4 == 0:
            context.log(f"asleep for {number * STEP:g} of {seconds:g} s")
        if context.cancelled:
            context.cancel("woken up")
        time.sleep(STEP)
    context.progress(steps, steps)
    return "rested"


@task(name="demo.watch_the_clock", tags=["waiting"])
async def watch_the_clock(ticks: int) -> AsyncIterator[float]:
    """An async generator: holds no thread while it waits."""
    for _ in range(ticks):
        await asyncio.sleep(STEP)
        yield round(time.time(), 1)


@task(name="demo.remind", tags=["waiting"])
def remind(text: str) -> str:
    """Return the text. The push has a delay: until then the task is postponed."""
    current().log(f"it is time: {text}")
    return text


@task(name="demo.wait_until", tags=["waiting"])
def wait_until(moment: float) -> str:
    """Restart every five seconds until the given time. These restarts do not count as attempts."""
    if (left := moment - time.time()) > 0:
        current().log(f"{left:.0f} s too early")
        current().restart(min(left, LOOK_AGAIN))
    return "the moment has come"


@task(name="demo.call_back", retries=4, retry=Retry(delay=2, backoff=2, max_delay=30), tags=["waiting"])
def call_back(number: int, busy_times: int = 2) -> str:
    """Fail, wait longer each time, and succeed in the end."""
    attempt = current().attempt
    if attempt <= busy_times:
        raise ConnectionRefusedError(f"{number} is busy ({attempt} of {busy_times})")
    return f"{number} answered at attempt {attempt}"
