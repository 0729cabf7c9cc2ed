"""Registry of pools: the set of their names. On a cluster it has copies, for the server of one may not answer."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from redis.exceptions import ResponseError

from queueops.conf import Settings
from queueops.errors import BrokenPool, BrokerUnavailable, StoreFull
from queueops.ids import lane_or_none
from queueops.redis.keys import pools

if TYPE_CHECKING:
    from queueops.redis.link import Link

COPIES = 3
MOST_POOLS = 256
"""Pools that a page, or a search for an id, looks into."""

logger = logging.getLogger("queueops.redis")


class Registry:
    """The pools of one namespace. Safe for threads."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._announced: set[str] = set()
        self._seen: set[bytes] = set()

    @property
    def keys(self) -> tuple[str, ...]:
        """Where the names stand."""
        return pools(self._link.settings.namespace, COPIES if self._link.servers.is_cluster else 1)

    def announce(self, pool: str, *, again: bool = False) -> None:
        """Make a pool known. Work goes on where that cannot be done now: the next call tries it again."""
        if pool in self._announced and not again:
            return
        try:
            self._in_copies(lambda client, key: client.sadd(key, pool))
        except StoreFull:  # it need not be known for being drained
            return
        except BrokerUnavailable as error:
            if not self._link.servers.is_cluster:
                raise
            logger.debug("Pool %s is not in the list of pools yet: %s", pool, error)
            return
        self._announced.add(pool)

    def names(self) -> list[str]:
        """Every pool that was ever used or is declared, by name. Raises BrokerUnavailable when no copy can be read."""
        return pool_names(self._read(lambda client, key: client.smembers(key)), self._link.settings)

    def seen(self) -> tuple[list[str], str]:
        """At most MOST_POOLS pools; and why the list could not be read: then those that were in it before."""
        reason = ""
        try:
            self._seen = self._read(lambda client, key: client.srandmember(key, MOST_POOLS))
        except BrokerUnavailable as error:
            if not self._link.servers.is_cluster:
                raise
            reason = error.reason
        return pool_names(self._seen, self._link.settings), reason

    def _read(self, call: Any) -> set[bytes]:
        try:
            return set().union(*self._in_copies(call).values())
        except ResponseError as error:
            raise BrokenPool(pool="*", keys=f"{self.keys[0]} is no set of names") from error

    def _in_copies(self, call: Any) -> dict[str, Any]:
        """Make a call for each copy; of a cluster for those whose server answers soon."""
        if not self._link.servers.is_cluster:
            return {key: self._link.ask_key(key, call) for key in self.keys}
        return self._link.hasty().fan_out.copies(self.keys, call)


def pool_names(found: Iterable[bytes], settings: Settings) -> list[str]:
    """The pools of a namespace, by name: those used, but for names that can be none, and those declared."""
    used = {name for raw in found if (name := lane_or_none(raw)) is not None}
    return sorted(used | set(settings.pools) | {"default"})
