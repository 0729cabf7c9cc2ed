"""Store checks: whether a server's configuration can lose tasks; uses only INFO, PUBLISH, FCALL, FUNCTION and EVAL.

Managed servers permit these commands too. Where they also permit CONFIG GET, the memory that a record takes is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import redis

from queueops.conf import redactor, url_source
from queueops.errors import QueueOpsError
from queueops.model.sentences import say
from queueops.model.store_url import masked
from queueops.redis.client_factory import connect
from queueops.redis.embedded.server import CONFIG
from queueops.redis.library import PREFIX, library
from queueops.redis.redis_cli import addressed
from queueops.redis.scripts import is_loaded, refusal

OLDEST_REDIS, OLDEST_VALKEY = (6, 2), (7, 2)
COMPACT = int(CONFIG["hash-max-ziplist-value"])
"""The longest value, in bytes, with which a server should keep a record in the compact encoding."""
CALLED = re.compile(r"call\('([A-Z]+)'")
"""A command that the Lua library calls."""
OWN_COMMANDS = ("BLPOP", "SCAN", "SSCAN", "ZSCAN")
"""Commands that clients send beside those of the library."""
FORBIDDEN = """
local denied = {}
for _, command in ipairs(redis.acl_check_cmd and ARGV or {}) do
  local is_known, may = pcall(redis.acl_check_cmd, command, KEYS[1])
  if is_known and not may then denied[#denied + 1] = command end
end
return denied
"""
"""Asks a server since Redis 7.0 which commands the user may not send; nothing is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault of the store's configuration; `loses` if it can lose tasks, or stops them all. `number` is the check's.

    `command` mends it, or shows more about it.
    """

    number: int
    text: str
    hint: str
    loses: bool = False
    command: str = ""


def examine(url: str, channel: str, **options: Any) -> list[Fault]:
    """Query the store of a URL, and return its faults; empty if there are none. `channel` is one of QueueOps."""
    try:
        with connect(url, **options) as client:
            found = [*_of_channels(client, channel), *_of_functions(client), *_of_commands(client, channel)]
            found += [*_of_info(client), *_of_memory(client)]
            return [replace(fault, hint=addressed(fault.hint, url)) for fault in found]
    except (redis.exceptions.RedisError, OSError, QueueOpsError) as error:
        text = f"Redis at {masked(url)} cannot be asked: {redactor().text(str(error))}"
        return [Fault(number=102, text=text, hint=f"Start it, or correct {url_source()}.")]


def _of_channels(client: redis.Redis, channel: str) -> Iterator[Fault]:
    """Check the permission for channels: a Redis 7 user has none by default."""
    try:
        client.publish(channel, "")
    except redis.exceptions.NoPermissionError:
        text = "The store user has no channels: results arrive up to a second late, and live events are missing."
        yield Fault(number=108, text=text, hint="Give it those of the namespace, or all: ACL SETUSER name allchannels.")


def _of_functions(client: redis.Redis) -> Iterator[Fault]:
    """Check whether the Lua library can be loaded and called. The text that is loaded registers nothing."""
    slower = "each call sends a script's digest instead, which costs the store two to three times as much."
    for command in (("FCALL", f"{PREFIX}check", 0), ("FUNCTION", "LOAD", f"#!lua name={PREFIX}check\n")):
        try:
            client.execute_command(*command)
        except redis.exceptions.NoPermissionError:
            text = f"The store user may not use functions ({' '.join(map(str, command[: len(command) - 1]))}): {slower}"
            hint = "Permit them: ACL SETUSER name +fcall +function|load +function|list +function|delete."
            yield Fault(number=111, text=text, hint=hint)
            return
        except redis.exceptions.ResponseError as error:
            if "unknown command" in str(error):
                text = f"The store has no functions: {slower}"
                yield Fault(number=111, text=text, hint="Use Redis 7.0 or newer, or Valkey 7.2 or newer.")
                return
    yield from _of_library(client)


def _of_commands(client: redis.Redis, key: str) -> Iterator[Fault]:
    """Check the commands that QueueOps sends, and the keys of the namespace. A user without EVAL is not asked."""
    try:
        commands = sorted({*CALLED.findall(library().text), *OWN_COMMANDS} - {"PUBLISH"})  # 108 is about channels
        denied: Any = client.eval(FORBIDDEN, 1, key, *commands)
    except LookupError:  # `check_kinds` says so
        return
    except redis.exceptions.NoPermissionError as error:
        if "key" in str(error):
            text = "The store user may not use the keys of the namespace: no task is pushed or run."
            own = key.partition(":")[0]
            hint = f"Permit them: ACL SETUSER name ~{own}:* ~{own}}}:*."
            yield Fault(number=114, text=text, hint=hint, loses=True)
        return
    if names := [str(name, "ascii") if isinstance(name, bytes) else str(name) for name in denied]:
        text = f"The store user may not use {', '.join(names)}: what needs it fails."
        hint = f"Permit them: ACL SETUSER name {' '.join(f'+{name.lower()}' for name in names)}."
        yield Fault(number=114, text=text, hint=hint, loses=True)


def _of_library(client: redis.Redis) -> Iterator[Fault]:
    """Check whether the server takes the Lua library. It is loaded, as the first worker would do."""
    try:
        text = library().text
    except LookupError:  # `check_kinds` says so
        return
    try:
        client.execute_command("FUNCTION", "LOAD", text)
    except redis.exceptions.ResponseError as error:
        if not is_loaded(error) and (refused := refusal(error, text)):
            hint = "No task is pushed or run until then."
            yield Fault(number=112, text=str(refused), hint=hint, loses=True)


def _of_info(client: redis.Redis) -> Iterator[Fault]:
    try:
        info: Mapping[str, Any] = client.info()
    except redis.exceptions.NoPermissionError:
        text = "The user of the store's URL may not ask it for INFO: whether it keeps tasks is unknown."
        yield Fault(number=109, text=text, hint="Give it that command: ACL SETUSER name +info.")
        return
    if str(_of_one_server(info).get("role", "master")) != "master":
        text = "The store is a replica: nothing can be pushed to it."
        yield Fault(number=110, text=text, hint="Name the primary, or sentinels.", loses=True)
    yield from faults(_of_one_server(info))


def _of_memory(client: redis.Redis) -> Iterator[Fault]:
    """Check how long a value of a compact record may be. No fault if the server does not tell: it may forbid CONFIG.

    Redis 6.2 knows the setting by the older of two names. Newer servers answer with both names.
    """
    try:
        found = client.config_get("hash-max-*-value")
    except redis.exceptions.ResponseError:
        return
    name = min(map(str, found), default="")  # "listpack" before "ziplist"
    if name and (longest := int(found[name] or 0)) < COMPACT:
        text = f"A record with arguments of over {longest} bytes takes half as much memory again: {name} is {longest}."
        command = f"redis-cli CONFIG SET {name} {COMPACT}"
        hint = f"Write: {command} - and set it in the server's configuration file, for its next start."
        yield Fault(number=113, text=text, hint=hint, command=command)


def faults(info: Mapping[str, Any]) -> Iterator[Fault]:
    """The faults that an INFO reply shows; also for the console, which already has the reply."""
    policy = str(info.get("maxmemory_policy", "noeviction"))
    if policy != "noeviction":
        text = say(
            "The store may drop tasks when its memory is full: its eviction policy is %(policy)s.", policy=repr(policy)
        )
        command = "redis-cli CONFIG SET maxmemory-policy noeviction"
        yield Fault(number=103, text=text, hint=say("Set maxmemory-policy to noeviction."), loses=True, command=command)
    if not int(info.get("aof_enabled", 0)):
        text = say("The store has no append-only file: a restart of it loses tasks.")
        command = "redis-cli CONFIG SET appendonly yes"
        yield Fault(number=104, text=text, hint=say("Set appendonly to yes."), loses=True, command=command)
    elif info.get("aof_last_write_status", "ok") != "ok":
        text = say("The store cannot write its append-only file.")
        hint = say("Look at its log, and at the space on its disk.")
        yield Fault(number=105, text=text, hint=hint, loses=True, command="redis-cli INFO persistence")
    if not int(info.get("maxmemory", 0)):
        text = say("The store has no memory limit: it grows until the system kills it.")
        hint = say("Set maxmemory to about three quarters of its machine's memory.")
        yield Fault(number=106, text=text, hint=hint)
    yield from _too_old(info)


def _too_old(info: Mapping[str, Any]) -> Iterator[Fault]:
    valkey = info.get("valkey_version")
    version, oldest = str(valkey or info.get("redis_version", "0")), OLDEST_VALKEY if valkey else OLDEST_REDIS
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < oldest:
        text = say("The store's version %(version)s is too old.", version=version)
        hint = say("Use Redis 6.2 or newer, or Valkey 7.2 or newer.")
        yield Fault(number=107, text=text, hint=hint, loses=True, command="redis-cli INFO server")


def _of_one_server(info: Mapping[str, Any]) -> Mapping[str, Any]:
    """A cluster replies per node: the first reply stands for all."""
    first = next(iter(info.values()), None)
    return first if isinstance(first, Mapping) and "redis_version" in first else info
