"""huey: threads, results kept. It takes a task off the list before it runs it, so a killed worker loses it."""

import os

import marks
from huey import RedisHuey

huey = RedisHuey("bench", url=os.environ["BENCH_URL"], results=True)
noop = huey.task()(marks.noop)
nap = huey.task()(marks.nap)


def push(task: str, number: int) -> None:
    """Queue one task."""
    globals()[task](number)
