"""All that a pool holds at one moment, read key by key, so that the checks can compare one place with another."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from math import floor, inf
from typing import Any

from redis.cluster import RedisCluster

from queueops.redis.broker import RedisBroker

SHAPES = {
    r"task:[^#]+": "hash",
    r"task:[^#]+#log": "list",
    r"task:[^#]+#next": "hash",
    r"task:[^#]+#last": "hash",
    r"(task|trash):[^#]+#(children|planted|drafts|told|later)": "zset",
    r"(task|trash):[^#]+#(open|asked)": "set",
    r"(task|trash):[^#]+#(latest|failures|history|inbox)": "list",
    r"(task|trash):[^#]+#(results|far|calls|payloads)": "hash",
    r"task:[^#]+#\d+~?": "hash",
    r"task:[^#]+#\d+#log": "list",
    r"task:[^#]+#chunks:(pending|active|errored|done|failed|stages)": "zset",
    r"task:[^#]+#chunks:(twins|unable)": "set",
    r"task:[^#]+#chunks:(by|edits)": "hash",
    r"trash:[^#]+": "hash",
    r"trash:[^#]+#log": "list",
    r"state:[a-z]+": "zset",
    r"lane:[^#]+": "zset",
    r"lane:[^#]+#conf": "hash",
    r"lane:[^#]+#active": "set",
    r"lane:[^#]+#jobs": "set",
    r"limit:[^#]+#(turn|active)": "set",
    r"limit:[^#]+#waiting": "zset",
    r"limit:[^#]+#tat": "string",
    r"limits:[^#]+": "zset",
    r"files|circuits:waiting": "zset",
    r"files:notes|follow_ups:notes": "hash",
    r"circuits|full_disks|job_counts": "hash",
    r"counted:.+": "string",
    r"name:.+": "zset",
    r"paused:.+": "zset",
    r"names:paused": "hash",
    r"kind:.+": "zset",
    r"tag:.+": "zset",
    r"error:[^#]+": "hash",
    r"error:[^#]+#tasks": "zset",
    r"metrics:\d+": "hash",
    r"history:(1m|10m|1h):\d+": "hash",
    r"recent:\d+": "hash",
    r"marks:(alarms|starts)": "zset",
    r"api:\d+": "string",
    r"schedule:[^#]+": "hash",
    r"schedule:[^#]+#(log|queue)": "list",
    r"schedules": "zset",
    r"commands|commands_locked|commands:dead|follow_ups:dead": "zset",
    r"command:.+": "hash",
    r"schedules:queued": "set",
    r"worker:.+": "hash",
    r"stack:.+": "hash",
    r"wake:.+": "list",
    r"unable:.+": "set",
    r"agenda|blocked|lanes|lanes:ready|names|tags|errors|workers|idle|trashed": "zset",
    r"alarms|counts|clock|instances": "hash",
    r"seq|sampler|snapshot|tail|unable": "string",
}
"""Every shape of key that a pool may hold, behind its prefix, and the type of what is there."""

PASSING = re.compile(
    r"(metrics|history|marks|worker|wake|stack|error|api|counted):.*|task:[^#]+#last|alarms|sampler|snapshot|tail|unable|full_disks"
)
"""Keys that go by themselves: each has a time to live."""

SLIGHT_MS = 2
LONGEST_WAIT_MS = 50
"""A lane that waits for tokens comes back at the next one, or when those of so much time are there."""

READ = """
local read = {
  string = function(key) return redis.call('GET', key) end,
  hash = function(key) return redis.call('HGETALL', key) end,
  list = function(key) return redis.call('LRANGE', key, 0, -1) end,
  set = function(key) return redis.call('SMEMBERS', key) end,
  zset = function(key) return redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end,
}
local found = {}
for _, key in ipairs(redis.call('KEYS', KEYS[1] .. ':*')) do
  local kind = redis.call('TYPE', key).ok
  found[#found + 1] = { key, kind, redis.call('PTTL', key), read[kind] and read[kind](key) or '' }
end
return { redis.call('TIME'), found }
"""
"""All of a pool in one call: a pipeline of a command for each key costs the models most of their processor time."""


def shape_of(name: str) -> str:
    """The type that a key of this name must have; empty for a name of no known shape."""
    return _shape_of(name, len(SHAPES))  # a test may add a shape for its time


@lru_cache(8192)
def _shape_of(name: str, shapes: int) -> str:
    """A model looks at the same names after each of its steps."""
    return next((kind for shape, kind in SHAPES.items() if re.fullmatch(shape, name)), "")


def server_of(broker: RedisBroker, key: str) -> Any:
    """A client of the one server, or of that server of a cluster which holds the key."""
    client: Any = broker.client
    if isinstance(client, RedisCluster):
        client = client.get_redis_connection(client.get_node_from_key(key))
    return client


def names_like(client: Any, pattern: str) -> list[bytes]:
    """The names of all keys of a pattern, on all servers."""
    everywhere = {"target_nodes": RedisCluster.PRIMARIES} if isinstance(client, RedisCluster) else {}
    found: list[bytes] = client.keys(pattern, **everywhere)
    return found


class Picture:
    """The keys of a pool, and what they hold. A key of another type than its name says is in ``foreign``."""

    def __init__(self, broker: RedisBroker, pool: str = "default") -> None:
        self.keys = broker.keys(pool)
        client, prefix = server_of(broker, self.keys.seq), f"{self.keys.prefix}:"
        (seconds, micros), found = client.eval(READ, 1, self.keys.prefix)
        self.now = int(seconds) * 1000 + int(micros) // 1000
        found = sorted((key.decode()[len(prefix) :], kind.decode(), left, value) for key, kind, left, value in found)
        self._names = [name for name, *_ in found]
        self.shapes = {name: shape_of(name) for name in self._names}
        self.ttls = {name: left for name, _, left, _ in found if PASSING.fullmatch(name)}
        self.foreign = {name for name, kind, *_ in found if self.shapes[name] not in ("", kind)}
        self._values = {name: value for name, kind, _, value in found if self.shapes[name] == kind}
        self._scores: dict[str, dict[str, float]] = {}
        self._hashes: dict[str, dict[str, str]] = {}

    def scores(self, name: str) -> dict[str, float]:
        """A sorted set as member: score. The checks ask for the same ones again and again."""
        if (found := self._scores.get(name)) is None:
            self._scores[name] = found = {member.decode(): float(score) for member, score in self._pairs(name)}
        return found

    def order(self, name: str) -> list[str]:
        """A sorted set's members in order."""
        return [member.decode() for member, _ in self._pairs(name)]

    def members(self, name: str) -> set[str]:
        """A set."""
        return {member.decode() for member in self._values.get(name, ())}

    def items(self, name: str) -> list[str]:
        """What is in a list."""
        return [item.decode() for item in self._values.get(name, ())]

    def hash(self, name: str) -> dict[str, str]:
        """A hash; empty when it is not there or is no hash."""
        if (found := self._hashes.get(name)) is None:
            found = {field.decode(): value.decode("utf-8", "replace") for field, value in self._pairs(name)}
            self._hashes[name] = found
        return found

    def _pairs(self, name: str) -> Iterator[tuple[bytes, bytes]]:
        """Members with scores, or fields with values."""
        values = iter(self._values.get(name, ()))
        return zip(values, values, strict=True)

    def under(self, start: str, *, sub: str = "") -> Iterator[str]:
        """The rest of every key that begins with ``start`` and ends with ``#sub`` (or has no sub-key)."""
        for name in islice(self._names, bisect_left(self._names, start), None):
            if not name.startswith(start):
                return
            rest, _, found = name[len(start) :].partition("#")
            if found == sub:
                yield rest

    def records(self) -> dict[str, dict[str, str]]:
        """Every readable record by id, short field names."""
        found = {task_id: self.hash(f"task:{task_id}") for task_id in self.under("task:")}
        return {task_id: record for task_id, record in found.items() if "s" in record and "n" in record}

    def states(self) -> dict[str, dict[str, float]]:
        """Every state index."""
        return {state: self.scores(f"state:{state}") for state in self.under("state:")}

    def tokens(self, lane: str) -> tuple[float, float]:
        """How many tasks of a lane its rate allows to start, rounded up; and by when it is to be asked again."""
        conf = self.hash(f"lane:{lane}#conf")
        if "rate" not in conf:
            return inf, -inf
        rate = float(conf["rate"])
        full_in_ms = max(0.0, float(conf.get("tat", 0)) / 1000 - self.now - SLIGHT_MS)
        return max(1, floor(rate)) - full_in_ms * rate / 1000, self.now + max(1000 / rate, LONGEST_WAIT_MS) + SLIGHT_MS

    def lane_conf(self, lane: str) -> tuple[int | None, bool]:
        """The limit of a lane, and whether it is paused."""
        conf = self.hash(f"lane:{lane}#conf")
        return int(conf["limit"]) if "limit" in conf else None, conf.get("paused") == "1"
