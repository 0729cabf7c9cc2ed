"""Store health: figures of INFO, and alarms about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from time import monotonic
from typing import Any

from msgspec import structs

from queueops.inspect.alarm import Alarm, danger, manage, warning
from queueops.inspect.answers import Answer
from queueops.model.sentences import join, say
from queueops.redis.reader import Reader
from queueops.redis.store_checks import faults

NEAR_FULL, ALMOST_FULL = 0.85, 0.95
SLOW_S, CONFIRMED_S = 0.5, 0.25
"""A store that needs so long for an answer is slow, and that long for the next one: each call of a worker waits, too.

A reading that takes over a second counts as no answer.
"""


class RedisHealth(Answer, frozen=True, kw_only=True):
    """The store, as its INFO reports it, and this process's Lua library, by version and digest.

    Without `functions`, the store gets each function of the library as a script, which is slower.
    """

    version: str
    used_memory: int
    maxmemory: int
    policy: str
    aof: bool
    clients: int
    ops: int
    library: str
    functions: bool


def redis_health(info: Mapping[str, Any], library: str = "", functions: bool = True) -> RedisHealth:
    """The figures of the server, beside what this process knows of its library."""
    version = info.get("valkey_version") or info.get("redis_version") or "?"
    return RedisHealth(
        version=f"{info.get('server_name', 'redis')} {version}",
        used_memory=int(info.get("used_memory", 0)),
        maxmemory=int(info.get("maxmemory", 0)),
        policy=str(info.get("maxmemory_policy", "")),
        aof=bool(info.get("aof_enabled", 0)),
        clients=int(info.get("connected_clients", 0)),
        ops=int(info.get("instantaneous_ops_per_sec", 0)),
        library=library,
        functions=functions,
    )


def store_alarms(info: Mapping[str, Any], server: str = "", trash: Mapping[str, int] | None = None) -> Iterator[Alarm]:
    """Alarms of what can lose tasks, or soon make pushes fail; in a cluster with the server's name.

    `trash`: the number of deleted tasks by pool. To empty it is the remedy of a full store.
    """
    for alarm in _alarms(info, trash or {}):
        yield (
            structs.replace(
                alarm,
                text=say("Server %(server)s: %(text)s", server=server, text=alarm.text),
                key=f"{alarm.key} {server}",
            )
            if server
            else alarm
        )


def _alarms(info: Mapping[str, Any], trash: Mapping[str, int]) -> Iterator[Alarm]:
    if not info:
        text = say("The store user has no permission for INFO: memory use and persistence are unknown. Grant it +info.")
        yield warning(text, "health", "redis-cli ACL SETUSER NAME +info", key="store info")
        return
    health = redis_health(info)
    for fault in faults(info):
        if fault.loses:
            yield danger(join(fault.text, fault.hint), "health", fault.command, key=f"store {fault.number}")
    if health.maxmemory and (share := health.used_memory / health.maxmemory) >= NEAR_FULL:
        text = say(
            "The store uses %(share)s of its memory limit. At the limit it refuses pushes.", share=f"{share:.0%}"
        )
        full = (danger if share >= ALMOST_FULL else warning)(
            text, "health", f"redis-cli CONFIG SET maxmemory {2 * health.maxmemory}", key="full store"
        )
        yield _with_trash(full, trash)
    if str(info.get("role", "master")) != "master":
        text = say("The server is a replica and refuses writes. Name the primary, or sentinels.")
        yield danger(text, "health", "redis-cli INFO replication", key="store replica")


def _with_trash(full: Alarm, trash: Mapping[str, int]) -> Alarm:
    """The alarm of a full store. As long as the trash holds tasks, to empty it is the first remedy."""
    if not (count := sum(trash.values())):
        return full
    trashed = say(
        "The trash keeps %(count)s deleted tasks for up to 24 hours. Empty it, or raise maxmemory.", count=count
    )
    text = join(full.text, trashed)
    pool = max(trash, key=lambda name: trash[name])
    command = manage("queue", "trash", "--empty")
    return structs.replace(full, text=text, command=command, verb="empty_trash", target=f"{pool}/")


def slow_alarms(reader: Reader) -> Iterator[Alarm]:
    """An alarm if an answer to this question took long, and the next one as well."""
    if reader.slowest_s < SLOW_S:
        return
    begun = monotonic()
    reader.now_ms()
    if monotonic() - begun >= CONFIRMED_S:
        text = say(
            "The store is slow: it needed over half a second to answer. Look at its CPU, its memory and the network."
        )
        yield warning(text, "health", "redis-cli SLOWLOG GET 10", key="slow store")


def server_ms(info: Mapping[str, Any]) -> int | None:
    """The server's clock, if the server reports it."""
    found = info.get("server_time_usec")
    return None if found is None else int(found) // 1000
