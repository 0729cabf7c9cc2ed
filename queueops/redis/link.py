"""What every role of the broker stands on: the settings, the connection, the scripts and the keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Self, TypeVar

from redis.exceptions import ResponseError

from queueops import conf
from queueops.errors import BrokenPool, StoreFull
from queueops.ids import lane_or_none
from queueops.redis import wire
from queueops.redis.connection import connect
from queueops.redis.diagnosis import SIGNS, foreign_keys
from queueops.redis.keys import Keys, pools
from queueops.redis.replies import repeat
from queueops.redis.scripts import Scripts

BATCH = 500
"""Tasks in one call of a script; more would hold up everybody else."""
LONGEST_SLEEP_MS = 10_000
"""An idle worker looks at its pool at least this often, whatever the agenda says."""
HASTE_S = 2.5
"""What a page waits for an answer."""
FORGET_WORKER_MS = 120_000
"""A worker that has not beaten for so long is taken out of the registry."""

T = TypeVar("T")


def pool_names(found: Iterable[bytes], settings: conf.Settings) -> list[str]:
    """The pools of a namespace, by name: those used, but for names that can be none, and those declared."""
    used = {name for raw in found if (name := lane_or_none(raw)) is not None}
    return sorted(used | set(settings.pools) | {"default"})


class Link:
    """All pools of one namespace on one server or cluster. Safe for threads; after a fork a new one is made."""

    def __init__(self, settings: conf.Settings) -> None:
        """Bind the settings; the first call connects. Of a cluster the map is read now: raises BrokerUnavailable."""
        self.settings = settings
        self.client: Any = self._repeat(lambda: connect(settings.url, **settings.connect))
        self.scripts = Scripts(self.client)
        self.rules = wire.rules(settings)
        self.longest_ms = min(LONGEST_SLEEP_MS, round(settings.lease * 1000 / 3))
        self._keys: dict[str, Keys] = {}
        self._announced: set[str] = set()
        self._hasty: Self | None = None

    def hasty(self) -> Self:
        """The same store, for whoever would rather have no answer than wait: a person who looks at a page."""
        if self._hasty is None:
            settings = self.settings
            short = dict.fromkeys(("socket_timeout", "socket_connect_timeout"), HASTE_S)
            retry = replace(settings.retry, budget=min(HASTE_S, settings.retry.budget))
            self._hasty = type(self)(replace(settings, connect=short | dict(settings.connect), retry=retry))
        return self._hasty

    def close(self) -> None:
        """Hang up this thread's connection and those of the pool; the next call connects again."""
        if self._hasty is not None:
            self._hasty.close()
        self.scripts.close()
        self.client.close()

    def keys(self, pool: str) -> Keys:
        """The keys of a pool; asking for them does not make it known."""
        keys = self._keys.get(pool)
        if keys is None:
            keys = self._keys[pool] = Keys(self.settings.namespace, pool)
        return keys

    def announce(self, pool: str) -> None:
        """Make a pool known to the namespace: whoever pushes to it or works for it does."""
        if pool in self._announced:
            return
        try:
            self._repeat(lambda: self.client.sadd(pools(self.settings.namespace), pool))
        except StoreFull:  # it need not be known for being drained
            return
        self._announced.add(pool)

    def pools(self) -> list[str]:
        """Every pool that was ever used or is declared, by name."""
        key = pools(self.settings.namespace)
        try:
            found = self._repeat(lambda: self.client.smembers(key))
        except ResponseError as error:
            raise BrokenPool(pool="*", keys=f"{key} is no set of names") from error
        return pool_names(found, self.settings)

    def _repeat(self, call: Callable[[], T]) -> T:
        return repeat(call, self.settings.url, self.settings.retry)

    def _call(self, script: str, pool: str, *arguments: Any) -> Any:
        prefix = self.keys(pool).prefix
        try:
            return self._repeat(lambda: self.scripts.call(script, prefix, *arguments))
        except ResponseError as error:
            raise self.explained(pool, error) from error

    def explained(self, pool: str, error: ResponseError, lanes: Iterable[str] = ()) -> Exception:
        """The error of a script, or BrokenPool when a key of the pool is to blame; `lanes` are those it was about."""
        if not any(sign in str(error) for sign in SIGNS):
            return error
        found = self._repeat(lambda: foreign_keys(self.client, self.keys(pool), lanes))
        return BrokenPool(pool=pool, keys="; ".join(found) or f"one of its keys is not what it should be ({error})")
