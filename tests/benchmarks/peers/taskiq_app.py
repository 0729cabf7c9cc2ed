"""taskiq on Redis streams (its at-least-once broker), uvloop, results kept, coroutines: what it is best at."""

import asyncio
import os
from time import monotonic_ns

import marks
from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

URL = os.environ["BENCH_URL"]
# From "0": what was pushed before the worker came is to be read too.
broker = RedisStreamBroker(URL, consumer_id="0").with_result_backend(RedisAsyncResultBackend(URL, result_ex_time=3600))


@broker.task
async def noop(number: int) -> int:
    """Do nothing."""
    return marks.noop(number)


@broker.task
async def nap(number: int) -> int:
    """Wait as a coroutine does."""
    begun = monotonic_ns()
    await asyncio.sleep(0.010)
    marks.ended(number, begun)
    return number


_loop = asyncio.new_event_loop()


def push(task: str, number: int) -> None:
    """Queue one task."""
    _loop.run_until_complete(globals()[task].kiq(number))
