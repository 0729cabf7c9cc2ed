"""Store client: settings, connection, scripts and keys, on which every role of the broker is built."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, Self, TypeVar

import redis
from redis.exceptions import ResponseError

from queueops import conf
from queueops.errors import BrokenPool
from queueops.model.encryption import ids_of, keyring
from queueops.redis import wire
from queueops.redis.call_limits import refuse_in_replay, repeat
from queueops.redis.client_factory import connect, servers
from queueops.redis.fanout import FanOut
from queueops.redis.keys import Keys, libraries, pools
from queueops.redis.lane_patterns import LanePatterns
from queueops.redis.library_use import LibraryUse
from queueops.redis.pool_registry import Registry
from queueops.redis.query_replies import may_be_id
from queueops.redis.scripts import ScriptLine, Scripts
from queueops.redis.servers import Cluster, OneServer
from queueops.redis.wrong_types import SIGNS, foreign_keys, replies, right

BATCH = 500
"""Tasks in one script call; more would delay the other clients."""
LONGEST_SLEEP_MS = 10_000
"""An idle worker looks at its pool at least this often, in ms, whatever the agenda says."""
HASTE_S = 2.5
"""How long a page waits for a reply."""
FORGET_WORKER_MS = 120_000
STACK_KEPT_MS = 3_600_000
"""A worker without a heartbeat for this long is removed from the registry."""
COPIES = 3
"""Copies of a list of the namespace in a cluster, because a server may not answer."""

ONCE = conf.BrokerRetry(attempts=1)
T = TypeVar("T")


class StoreClient:
    """All pools of one namespace on one server or cluster. Thread-safe; a forked process makes a new one."""

    servers: OneServer | Cluster
    scripts: Scripts
    rules: Any
    longest_ms: int
    lane_patterns: LanePatterns
    registry: Registry
    library_use: LibraryUse
    fan_out: FanOut

    def __init__(self, settings: conf.Settings) -> None:
        """Bind the settings; the first call connects. Raises BadUrl."""
        self.settings = settings
        self.servers = servers(settings.url, **settings.connect)
        if (ring := keyring(settings.encryption)) is not None:
            self.servers.open_with(ring)
        self.scripts = Scripts(self.servers)
        self.rules = wire.rules(settings)
        self.longest_ms = min(LONGEST_SLEEP_MS, round(settings.lease * 1000 / 3))
        self.lane_patterns = LanePatterns(settings, self.declare_lane)
        self._keys: dict[str, Keys] = {}
        copies, namespace = COPIES if self.spread else 1, settings.namespace
        self.registry = Registry(settings, pools(namespace, copies), self.ask_copies)
        uses = libraries(namespace, copies), self.ask_copies, ids_of(settings.encryption)
        self.library_use = LibraryUse(self.scripts, *uses)
        self.fan_out = FanOut(self.servers, settings)
        self._hasty: Self | None = None

    @cached_property
    def client(self) -> Any:
        """The redis-py client of the whole store, for commands that concern all servers of a cluster."""
        if not self.servers.is_cluster:
            return self.servers.client("")
        return self.repeat(lambda: connect(self.settings.url, **self.settings.connect))

    @property
    def spread(self) -> bool:
        """Whether pools may be on several servers."""
        return self.servers.is_cluster

    def at(self, pool: str) -> redis.Redis:
        """The redis-py client of the server that holds a pool. Raises redis-py's errors."""
        return self.servers.client(self.keys(pool).prefix)

    def script_line(self, pool: str, function: str) -> ScriptLine:
        """Connect for pipelined calls of a function for a pool. Raises redis-py's errors."""
        return ScriptLine(self.scripts, self.at(pool), self.keys(pool).prefix, function)

    def server(self, pool: str) -> str:
        """The name of the server that holds a pool; empty if there is only one. Raises BrokerUnavailable."""
        if self.servers.is_cluster:
            return self.repeat(self.servers.name, self.keys(pool).prefix, pool=pool)
        refuse_in_replay()  # as the other calls that concern a pool
        return ""

    def ask(self, pool: str, call: Callable[[redis.Redis], Any]) -> Any:
        """Make a redis-py call on the server that holds a pool.

        The call is atomic and idempotent, so it is repeated.
        """
        return self.repeat(lambda: call(self.at(pool)), pool=pool)

    def ask_one(self, pool: str, call: Callable[[redis.Redis], Any]) -> Any:
        """Make a redis-py call about one key, as `ask` does; None for a key of a wrong type."""
        try:
            return self.ask(pool, call)
        except ResponseError as error:
            return right(error)

    def read_hash(self, pool: str, key: str) -> dict[bytes, bytes] | None:
        """All fields of a hash, on this thread's own connection; None for a key of a wrong type.

        A caller that waits for a result is idle before, and redis-py's own call then takes twice as long.
        """
        try:
            reply = repeat(self.servers, self.settings, key, self.scripts.execute, key, "HGETALL", key)
        except ResponseError as error:
            return right(error)  # type: ignore[no-any-return]
        return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2], strict=True))

    def ask_all(self, pool: str, fill: Callable[[Any], object], *, transaction: bool = False) -> list[Any]:
        """Make the commands that ``fill`` puts into a pipeline, as `ask` does; None for each key of a wrong type."""
        found: list[Any] = self.ask(pool, lambda client: replies(client, fill, transaction=transaction))
        return found

    def ask_records(
        self, places: Sequence[tuple[str, str]], fill: Callable[[Any, Keys, str], object]
    ) -> dict[tuple[str, str], list[Any]]:
        """Make the commands that ``fill`` puts into a pipeline for each pool and id, as `ask_all` does.

        There is one round trip to each server. Raises BrokerUnavailable if one of them does not answer.
        """
        wanted: dict[str, list[str]] = {}
        for pool, id in dict.fromkeys(places):
            wanted.setdefault(pool, []).append(id)

        def ask(pools: list[str]) -> dict[str, list[list[Any]]]:
            sizes: list[int] = []

            def fill_all(pipe: Any) -> None:
                sizes[:] = [0]
                for pool in pools:
                    for id in wanted[pool]:
                        fill(pipe, self.keys(pool), id)
                        sizes.append(len(pipe))

            found = self.ask_all(pools[0], fill_all)
            rows = (found[begin:end] for begin, end in pairwise(sizes))
            return {pool: list(islice(rows, len(wanted[pool]))) for pool in pools}

        answers, silent = self.fan_out.pools(wanted, ask)
        if silent:
            raise self.fan_out.unavailable(next(iter(silent.values())))
        return {(pool, id): row for pool, rows in answers.items() for id, row in zip(wanted[pool], rows, strict=True)}

    def hasty(self) -> Self:
        """The same store with short timeouts, for callers that must not wait long, such as the console's pages."""
        if self._hasty is None:
            settings = self.settings
            short = dict.fromkeys(("socket_timeout", "socket_connect_timeout"), HASTE_S)
            retry = replace(settings.retry, budget=min(HASTE_S, settings.retry.budget))
            self._hasty = type(self)(replace(settings, connect=short | dict(settings.connect), retry=retry))
            self._hasty.registry.share(self.registry)
        return self._hasty

    def close(self) -> None:
        """Close this thread's connection and the pool's connections; the next call connects again."""
        if self._hasty is not None:
            self._hasty.close()
        self.scripts.close()
        self.servers.close()
        if "client" in vars(self):
            self.client.close()

    def keys(self, pool: str) -> Keys:
        """The keys of a pool. Asking for them does not register the pool."""
        keys = self._keys.get(pool)
        if keys is None:
            keys = self._keys[pool] = Keys(self.settings.namespace, pool)
        return keys

    def announce(self, pool: str, *, again: bool = False) -> None:
        """Register a pool in the namespace. Each producer that pushes to it and each worker of it calls this.

        ``again`` if it was registered a moment ago and its name may be lost.
        """
        now = time.monotonic()
        if again or self.registry.announced.get(pool, 0.0) <= now:
            self.registry.announce(pool)
        if self.library_use.due_at <= now:
            self.library_use.note()

    def load_library(self, pool: str) -> None:
        """Load the Lua library to the server of a pool, as a process does at its start.

        Raises LibraryRefused, BrokerUnavailable or StoreFull.
        """
        self.ask(pool, lambda client: self.scripts.load(client.execute_command))

    def note_use(self) -> None:
        """Note that this process uses its version of the Lua library, at most once a minute."""
        self.library_use.note()

    def homes(self, names: Iterable[str]) -> tuple[dict[str, list[str]], dict[str, str]]:
        """The pools of each server, and the reason for each pool without a server. Raises BrokerUnavailable."""
        return self.fan_out.homes(names)

    def bring(self, pool: str) -> None:
        """Deliver what a call wrote for tasks of other pools, where no worker does. The outbox does it, if registered.

        The call itself is already done, so no error is raised.
        """

    def declare_lane(self, pool: str, lane: str, wanted: conf.LaneSettings) -> None:
        """Apply the settings' limit, rate and weight to a lane, if these settings are new to the store."""
        values = (("limit", wanted.limit), ("rate", wanted.rate), ("weight", wanted.weight))
        flat = [part for field, value in values for part in (field, "" if value is None else value)]
        self._call("lane", pool, lane, "1", *flat)

    def pools(self) -> list[str]:
        """Every pool that was ever used or is declared, sorted by name."""
        return self.registry.names()

    def ask_key(self, key: str, call: Callable[[redis.Redis, str], Any]) -> Any:
        """Make a redis-py call about a key on the key's server, as `ask` does."""
        return repeat(self.servers, self.settings, key, lambda: call(self.servers.client(key), key))

    def ask_copies(self, keys: Sequence[str], call: Callable[[redis.Redis, str], Any]) -> dict[str, Any]:
        """Make a redis-py call about keys that are copies of one another; of a cluster, the copies that answer soon."""
        if not self.servers.is_cluster:
            return {key: self.ask_key(key, call) for key in keys}
        hasty = self.hasty()
        return hasty.fan_out.copies(keys, lambda key: hasty.ask_key(key, call))

    def repeat(self, call: Callable[..., T], *arguments: Any, pool: str = "default") -> T:
        """Make an atomic, idempotent call that concerns a pool until it is answered. Raises as `call_limits.repeat`."""
        return repeat(self.servers, self.settings, self.keys(pool).prefix, call, *arguments)

    def once(self, pool: str, call: Callable[..., T], *arguments: Any) -> T:
        """Make a script call that must not be repeated. Raises BrokerUnavailable, StoreFull or BrokenPool."""
        try:
            return repeat(self.servers, self.settings, self.keys(pool).prefix, call, *arguments, retry=ONCE)
        except ResponseError as error:
            raise self.explained(pool, error) from error

    def _call(self, script: str, pool: str, *arguments: Any) -> Any:
        prefix = self.keys(pool).prefix
        try:
            return repeat(self.servers, self.settings, prefix, self.scripts.send, script, prefix, *arguments)
        except ResponseError as error:
            raise self.explained(pool, error, about=[each for each in arguments[:2] if may_be_id(each)]) from error

    def explained(
        self, pool: str, error: ResponseError, lanes: Iterable[str] = (), about: Iterable[object] = ()
    ) -> Exception:
        """Return the error of a script, or BrokenPool if a key of the pool caused it.

        ``lanes`` are the lanes of the call; ``about`` has names of tasks, workers and schedules.
        """
        if not any(sign in str(error) for sign in SIGNS):
            return error
        found = self.ask(pool, lambda client: foreign_keys(client, self.keys(pool), lanes, about))
        return BrokenPool(pool=pool, keys="; ".join(found) or f"one of its keys is not what it should be ({error})")
