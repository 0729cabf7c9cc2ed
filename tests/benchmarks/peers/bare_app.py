"""The bare loop: what a worker on this design can do at most, without Django, records, retries or recovery around it.

One script call settles what is done and claims up to 32 with a lease, a fence, three state sets and the result kept;
one thread owns the socket, a few run the tasks. `bare_app.py THREADS` is its worker, `push` and `push_many` its
producer.
"""

import os
import sys
from collections import deque
from collections.abc import Iterable
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

import marks
from redis import Redis

BATCH, LOW, LINGER = 32, 8, 0.005
LEASE_MS, KEEP_MS = 30_000, 86_400_000
TASKS = {b"noop": marks.noop, b"nap": marks.nap}

PUSH = """
for i = 1, #ARGV, 3 do
  local key = '{bare}:task:' .. ARGV[i]
  redis.call('HSET', key, 'n', ARGV[i + 1], 'a', ARGV[i + 2], 's', 'pending')
  redis.call('ZADD', '{bare}:lane', i, ARGV[i])
  redis.call('ZADD', '{bare}:state:pending', 0, ARGV[i])
end
if redis.call('DEL', '{bare}:idle') == 1 then redis.call('LPUSH', '{bare}:wake', 1) end
return #ARGV / 3
"""

EXCHANGE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ended, kept, freed = {}, {}, {}
for i = 4, #ARGV, 3 do
  local key = '{bare}:task:' .. ARGV[i]
  if redis.call('HGET', key, 'f') == ARGV[i + 1] then
    redis.call('HSET', key, 's', 'succeeded', 're', ARGV[i + 2])
    freed[#freed + 1] = ARGV[i]
    ended[#ended + 1] = now; ended[#ended + 1] = ARGV[i]
    kept[#kept + 1] = now + ARGV[3]; kept[#kept + 1] = ARGV[i]
  end
end
if #freed > 0 then
  redis.call('ZREM', '{bare}:state:locked', unpack(freed))
  redis.call('ZADD', '{bare}:state:succeeded', unpack(ended))
  redis.call('ZADD', '{bare}:agenda', unpack(kept))
end
local leases, begun, taken, due = {}, {}, {}, {}
local popped = redis.call('ZPOPMIN', '{bare}:lane', ARGV[1])
for i = 1, #popped, 2 do
  local id = popped[i]
  local key = '{bare}:task:' .. id
  local task = redis.call('HMGET', key, 'n', 'a')
  local fence = redis.call('INCR', '{bare}:seq')
  redis.call('HSET', key, 's', 'locked', 'f', fence, 'b', now)
  leases[#leases + 1] = {id, tostring(fence), task[1], task[2]}
  taken[#taken + 1] = id
  begun[#begun + 1] = now; begun[#begun + 1] = id
  due[#due + 1] = now + ARGV[2]; due[#due + 1] = id
end
if #taken > 0 then
  redis.call('ZREM', '{bare}:state:pending', unpack(taken))
  redis.call('ZADD', '{bare}:state:locked', unpack(begun))
  redis.call('ZADD', '{bare}:agenda', unpack(due))
elseif #freed == 0 then
  redis.call('SET', '{bare}:idle', 1, 'PX', 2000)
end
return leases
"""

_redis = Redis.from_url(os.environ["BENCH_URL"])
_push, _exchange = _redis.register_script(PUSH), _redis.register_script(EXCHANGE)


def push(task: str, number: int) -> None:
    """Queue one task."""
    _push(args=[os.urandom(13).hex(), task, number])


def push_many(task: str, numbers: Iterable[int]) -> None:
    """Queue all, 500 in a call."""
    rows = [part for number in numbers for part in (os.urandom(13).hex(), task, number)]
    for first in range(0, len(rows), 1500):
        _push(args=rows[first : first + 1500])


def run(jobs: SimpleQueue[Any], done: deque[Any], wanted: Event) -> None:
    """Take a lease, run it, leave its result; call the socket's owner only when little is left."""
    while True:
        task_id, fence, name, number = jobs.get()
        done.append((task_id, fence, TASKS[name](int(number))))
        if jobs.qsize() <= LOW and not wanted.is_set():
            wanted.set()


def work(threads: int) -> None:
    """Own the socket: settle and claim in one call, sleep while there is enough to do or nothing at all."""
    jobs: SimpleQueue[Any] = SimpleQueue()
    done: deque[Any] = deque()
    wanted, held = Event(), 0
    for _ in range(threads):
        Thread(target=run, args=(jobs, done, wanted), daemon=True).start()
    while True:
        wanted.clear()
        settled = [done.popleft() for _ in range(len(done))]
        held -= len(settled)
        leases = _exchange(args=[2 * BATCH - held, LEASE_MS, KEEP_MS, *(part for row in settled for part in row)])
        held += len(leases)
        for lease in leases:
            jobs.put(lease)
        if held:
            wanted.wait(LINGER)
        elif not settled:
            _redis.blpop(["{bare}:wake"], 1)


if __name__ == "__main__":
    work(int(sys.argv[1]))
