"""Tasks of the soak test. Each writes its effect to a file outside of the store, where no fault reaches."""

from __future__ import annotations

import asyncio
import time

from queueops import Retry, task
from tests.faults import trees
from tests.faults.ledger import note
from tests.soak import measured

__all__ = ["measured", "trees"]  # a worker knows what this module imports

SOON = Retry(delay=0.1, jitter=0)


@task()
def double(number: int, seconds: float = 0.0) -> int:
    """Return twice the number after a while."""
    note("start")
    time.sleep(seconds)
    note("end")
    return 2 * number


@task()
async def double_async(number: int, seconds: float = 0.0) -> int:
    """Return twice the number after a while, in the event loop."""
    note("start")
    await asyncio.sleep(seconds)
    note("end")
    return 2 * number


@task(retries=2, retry=SOON)
def fails_twice(number: int) -> int:
    """Fail at the first two attempts; a start that was lost with its worker is no attempt."""
    from queueops import current

    note("start")
    if current().attempt < 3:
        raise ValueError(number)
    note("end")
    return number


@task(retries=1, retry=SOON)
def fails(number: int) -> None:
    """Fail at each attempt."""
    note("start")
    raise ValueError(number)
