"""dramatiq: threads, results kept."""

import os

import dramatiq
import marks
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

URL = os.environ["BENCH_URL"]
broker = RedisBroker(url=URL)
broker.add_middleware(Results(backend=RedisBackend(url=URL)))
dramatiq.set_broker(broker)
noop = dramatiq.actor(marks.noop, store_results=True)
nap = dramatiq.actor(marks.nap, store_results=True)


def push(task: str, number: int) -> None:
    """Queue one task."""
    globals()[task].send(number)
