"""Large store: three pools of one store with the given number of tasks, of all kinds and in all states.

`python -m tests.benchmarks.large_store --url URL [--tasks N] [--check]` fills a store alone.
A tenth of a million tasks come by the broker's own calls. The others are copies of their records, which a script makes
in the store with all their index entries. `--check` runs the consistency check of the pools.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from queueops.redis.broker import RedisBroker

POOLS = {"default": 60, "mail": 30, "reports": 10}
"""Of 100 tasks, so many are in each pool."""
NAMES, LANES, KEYS = 300, 200, 500
MODEL = 100_000
"""Tasks that are made by the broker's own calls."""
BATCH = 250
STEP_MS = 10_000
PARENTS, CHUNKS = 2, 20_000
"""Map-reduce tasks of the first pool, and the chunks of each."""
COPIED = (None, b"job", b"callback", b"workflow")
"""Kinds of which copies are made; None are plain tasks."""

COPY = """#!lua
-- KEYS: 1 the pool's prefix. ARGV: 1 and 2 first and last number of the copies of each task, 3 ms by which each of
-- them is younger than the one before, 4.. ids.
local P, first, last, step, band = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), 17592186044416
local call, entries, copies = redis.call, {}, last - first + 1
local number = call('INCRBY', P .. ':seq', (#ARGV - 3) * copies) - (#ARGV - 3) * copies

local function text(value) return string.format('%.0f', value) end

local function copy(id)
  local key, flat, record = P .. ':task:' .. id, call('HGETALL', P .. ':task:' .. id), {}
  for n = 1, #flat, 2 do record[flat[n]] = n + 1 end
  local function value(field) return flat[record[field]] end
  local state, name, lane, kind, limit = value('s'), value('n'), value('l') or 'default', value('k'), value('lk')
  local indexes = {} -- key; score; what each copy adds to the score: `step`, or 'n' for its number
  local function index(key, score, add) indexes[#indexes + 1] = { key, tonumber(score), add } end
  index(P .. ':state:' .. state, call('ZSCORE', P .. ':state:' .. state, id), step)
  index(P .. ':name:' .. name, 0, 'n')
  local due = call('ZSCORE', P .. ':agenda', id)
  if due then index(P .. ':agenda', due, step) end
  if state == 'pending' then
    local waiting = limit and P .. ':limit:' .. name .. ' ' .. limit .. '#waiting'
    local place = call('ZSCORE', P .. ':lane:' .. lane, id) or call('ZSCORE', waiting, id)
    index(waiting or P .. ':lane:' .. lane, math.floor(place / band) * band, 'n')
    if limit then call('ZINCRBY', P .. ':limits:' .. name, copies, name .. ' ' .. limit) end
  end
  for tag in string.gmatch(value('tg') or '', '[^,]+') do index(P .. ':tag:' .. tag, 0, 'n') end
  local errors = value('ef') and P .. ':error:' .. value('ef') .. '#tasks'
  local failed = errors and call('ZSCORE', errors, id)
  if failed then index(errors, failed, step) end
  if kind then index(P .. ':kind:' .. kind, 0, 'n') end
  local besides = {}
  for _, each in ipairs({ '#log', '#history', '#inbox', '#calls', '#told' }) do
    if call('EXISTS', key .. each) == 1 then besides[#besides + 1] = each end
  end
  call('HINCRBY', P .. ':counts', 'n|' .. name .. '|' .. state, copies)
  if kind then call('HINCRBY', P .. ':counts', 'k|' .. kind .. '|' .. state, copies) end
  if lane ~= 'default' then
    call('HINCRBY', P .. ':counts', 's|' .. lane .. '|' .. state, copies)
    call('HINCRBY', P .. ':counts', 's||' .. state, copies)
  end
  local instance = value('vi')
  for nth = first, last do
    local new = id .. '-' .. nth
    number = number + 1
    flat[record.u] = text(number)
    if record.f then flat[record.f] = flat[record.u] end
    if instance then flat[record.vi] = instance .. '-' .. nth end
    call('HSET', P .. ':task:' .. new, unpack(flat))
    for _, each in ipairs(indexes) do
      local rows = entries[each[1]] or {}
      entries[each[1]] = rows
      rows[#rows + 1] = text(each[2] + (each[3] == 'n' and number or each[3] * nth))
      rows[#rows + 1] = new
    end
    for _, each in ipairs(besides) do call('COPY', key .. each, P .. ':task:' .. new .. each) end
    if kind == 'job' then call('SADD', P .. ':lane:' .. lane .. '#jobs', new) end
  end
end

for i = 4, #ARGV do copy(ARGV[i]) end
for key, rows in pairs(entries) do call('ZADD', key, unpack(rows)) end
return (#ARGV - 3) * copies
"""


class LargeStore:
    """The tasks of all pools; `grow` makes them more."""

    def __init__(self, broker: RedisBroker, model: int = MODEL) -> None:
        self.broker, self.model, self.tasks = broker, model, 0
        self._models: dict[str, list[bytes]] = {}

    def grow(self, tasks: int) -> None:
        """Make the tasks so many."""
        logging.getLogger("queueops").setLevel(logging.CRITICAL)
        if not self.tasks:
            self.tasks = min(tasks, self.model)
            for pool, share in POOLS.items():
                self._begin(pool, self.tasks * share // 100)
        first, last = self.tasks // self.model, tasks // self.model - 1
        for pool in POOLS if first <= last else ():
            self._copy(pool, first, last)
        self.tasks = max(self.tasks, tasks)

    def _begin(self, pool: str, tasks: int) -> None:
        from tests.benchmarks import kinds_of_tasks
        from tests.support import seed_tasks

        self.broker.announce(pool)
        kinds_of_tasks.make(self.broker, pool, tasks)
        made = seed_tasks.seed(self.broker, pool, tasks * 9 // 10, names=NAMES, lanes=LANES, keys=KEYS)
        assert made.total()
        kinds_of_tasks.occupy(self.broker, pool)
        self._models[pool] = list(self._to_copy(pool))
        for number in range(PARENTS if pool == "default" else 0):
            kinds_of_tasks.make_parent(self.broker, pool, f"count-{number}", CHUNKS)

    def _copy(self, pool: str, first: int, last: int) -> None:
        """Make the copies of these numbers."""
        client, prefix, models = self.broker.client, self.broker.keys(pool).prefix, self._models[pool]
        script, size = client.script_load(COPY), max(1, BATCH // (last - first + 1))
        for start in range(0, len(models), size):
            client.evalsha(script, 1, prefix, first, last, STEP_MS, *models[start : start + size])

    def _to_copy(self, pool: str) -> Iterator[bytes]:
        """The ids of the tasks that the broker made: those that have no parent, and that no worker holds."""
        client, keys = self.broker.client, self.broker.keys(pool)
        for state in ("succeeded", "failed", "cancelled", "restart", "postponed", "pending"):
            for start in count(0, 1000):
                ids = client.zrange(keys.state(state), start, start + 999)
                pipe = client.pipeline(transaction=False)
                for id in ids:
                    pipe.hmget(keys.task(id.decode()), "k", "pi")
                kept = zip(ids, pipe.execute(), strict=True)
                yield from (id for id, (kind, parent) in kept if not parent and kind in COPIED)
                if len(ids) < 1000:
                    break


def faults(broker: RedisBroker, pools: Iterable[str] = POOLS) -> Iterator[str]:
    """What the consistency check finds."""
    from queueops import inspect

    for pool in pools:
        after = ""
        while True:
            page = inspect.fsck(pool, after)
            yield from (f"{fault.pool} {fault.id}: {fault.text}" for fault in page.faults)
            if not (after := page.next):
                break


def main() -> int:
    """Fill the store; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.large_store", description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--model", type=int, default=MODEL, help="tasks by the broker's own calls (%(default)s)")
    parser.add_argument("--check", action="store_true", help="run the consistency check, and print what it finds")
    options = parser.parse_args()
    os.environ |= {"DJANGO_SETTINGS_MODULE": "tests.settings", "QUEUEOPS_TESTS_URL": options.url}
    import django

    django.setup()
    from time import perf_counter

    from queueops.redis.broker import get_broker

    broker: Any = get_broker()
    begun, before = perf_counter(), broker.client.info("memory")["used_memory"]
    LargeStore(broker, options.model).grow(options.tasks)
    used = broker.client.info("memory")["used_memory"] - before
    print(f"{options.tasks:,} tasks in {perf_counter() - begun:.0f} s, {used / options.tasks:,.0f} bytes a task")
    found = list(faults(broker)) if options.check else []
    print(*found[:50], f"{len(found)} faults" if options.check else "", sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
