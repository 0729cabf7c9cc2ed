"""rq: the worker that does not fork for each job (the default one is about four times slower), results kept."""

import os
from collections.abc import Iterable

import marks
from redis import Redis
from rq import Queue

_redis = Redis.from_url(os.environ["BENCH_URL"])
queue = Queue("bench", connection=_redis)
_tasks = {"noop": marks.noop, "nap": marks.nap}
CHUNK = 1000  # its pipeline holds all that it is given in memory


def push(task: str, number: int) -> None:
    """Queue one task."""
    queue.enqueue(_tasks[task], number)


def push_many(task: str, numbers: Iterable[int]) -> None:
    """Queue all in pipelines."""
    jobs = [Queue.prepare_data(_tasks[task], (number,)) for number in numbers]
    for first in range(0, len(jobs), CHUNK):
        queue.enqueue_many(jobs[first : first + CHUNK])
