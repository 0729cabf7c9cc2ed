"""The least that a paced task can cost: the same commands in two functions that decide nothing.

A producer pushes one task at a time, a worker waits for it and settles it, as in `paced`. The functions send the
commands that ours send for a plain task, in the same order, with keys and values of the same length. What `paced` costs
beyond this is the logic of ours, and what a target below it asks for is fewer indexes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep, time

from redis import Redis

from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.measures.paced import RATES, SECONDS
from tests.benchmarks.stage import RunFailed, Stage
from tests.benchmarks.systems import OURS

PREFIX = "{queueops:default}"
WAKE = f"{PREFIX}:wake:machine:29338:0:438736"
LIBRARY = """#!lua name=floor
local function push(keys, args)
  local call, P, id, now = redis.call, keys[1], args[1], args[2]
  local task = P .. ':task:' .. id
  call('TIME')
  call('EXISTS', P .. ':idle', P .. ':lanes:ready', P .. ':tail', P .. ':state:quarantined', task)
  call('EXISTS', P .. ':lane:default#conf', P .. ':unable', P .. ':names:paused')
  call('INCRBY', P .. ':seq', '1')
  call('ZPOPMAX', P .. ':idle')
  call('ZADD', P .. ':agenda', now, id)
  call('HSET', task, 'u', args[3], 's', 'locked', 'f', args[3], 'h', args[3], 'w', 'machine:29338:0:438736',
    'b', now, 'c', now, 'n', 'app.tasks.noop', 'r', '2')
  call('ZADD', P .. ':state:locked', now, id)
  call('ZADD', P .. ':name:app.tasks.noop', args[3], id)
  call('HINCRBY', P .. ':metrics:29929728', 'tr|>pending>locked', '1')
  call('HINCRBY', P .. ':metrics:29929728', 'in|app.tasks.noop', '1')
  call('LPUSH', P .. ':wake:machine:29338:0:438736', id)
  call('EXPIRE', P .. ':wake:machine:29338:0:438736', '60')
  return args[3]
end
local function settle(keys, args)
  local call, P, id, now = redis.call, keys[1], args[1], args[2]
  local task = P .. ':task:' .. id
  call('TIME')
  call('EXISTS', P .. ':tail', P .. ':lanes:ready', P .. ':commands', P .. ':lane:default#conf')
  call('HMGET', task, 's', 'f', 'n', 'm', 'l', 'kp', 'wt')
  call('HMGET', P .. ':clock', 'beat', 'grace', 'seq', 'paused')
  call('ZRANGE', P .. ':agenda', '0', '1', 'WITHSCORES')
  call('HSET', task, 's', 'succeeded', 'e', now, 're', '')
  call('ZREM', P .. ':state:locked', id)
  call('ZADD', P .. ':state:succeeded', now, id)
  call('HINCRBY', P .. ':counts', 'n|app.tasks.noop|succeeded', '1')
  call('HINCRBY', P .. ':metrics:29929728', 'tr|locked>succeeded', '1')
  call('ZADD', P .. ':agenda', now, id)
  call('ZADD', P .. ':idle', now, 'machine:29338:0:438736')
  return { now }
end
redis.register_function('floor_push', push)
redis.register_function('floor_settle', settle)
"""


def measure(stage: Stage) -> Figures:
    """Processor time of the server for each task, by rate."""
    figures: Figures = {}
    client = Redis.from_url(stage.server.url)
    try:
        client.function_load(LIBRARY, replace=True)
        for rate in RATES:
            count = rate * SECONDS
            with _settling(stage.server.url, count) as settled:
                cpu = stage.server.cpu_seconds()
                _push(client, rate, count)
                if not settled.wait(SECONDS):
                    raise RunFailed(f"floor: not all tasks at {rate}/s were settled")
                cpu = stage.server.cpu_seconds() - cpu
            figures[f"CPU us/task at {rate}/s"] = 1e6 * cpu / count
            stage.reset()
        client.function_delete("floor")
    finally:
        client.close()
    return figures


def _push(client: Redis, rate: int, count: int) -> None:
    begun = monotonic()
    for number in range(count):
        client.fcall("floor_push", 1, PREFIX, f"01M8EGT1KPQMJNXGTC{number:08}", f"{time():.3f}", str(number))
        if (left := begun + (number + 1) / rate - monotonic()) > 0:
            sleep(left)


@contextmanager
def _settling(url: str, count: int) -> Iterator[threading.Event]:
    """A worker in a thread, and what tells that it has settled all."""
    ended = threading.Event()

    def work() -> None:
        with Redis.from_url(url) as client:
            for _ in range(count):
                found = client.blpop([WAKE], timeout=SECONDS)
                if found is None:
                    return
                client.fcall("floor_settle", 1, PREFIX, found[1], f"{time():.3f}")
            ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield ended
    finally:
        thread.join(2 * SECONDS)


FLOOR = Benchmark(
    name="floor",
    title="The commands of a paced task in two functions without logic: the least that it can cost",
    target="none: it says how far `paced` can fall without fewer indexes",
    measure=measure,
    systems=(OURS,),
)
