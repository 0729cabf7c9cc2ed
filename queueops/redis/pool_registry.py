"""Registry of pools: the set of their names. A cluster has several copies, because a server may not answer."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Any

from redis.exceptions import ResponseError

from queueops.conf import Settings
from queueops.errors import BrokerUnavailable, StoreFull
from queueops.model.ids import lane_or_none
from queueops.redis.fanout import AskCopies
from queueops.redis.query_replies import text
from queueops.redis.wrong_types import WRONGTYPE

ANNOUNCED_S = 60.0
"""Seconds for which a pool counts as listed. A list that was deleted by hand is complete again after that time."""
MOST_POOLS = 256
"""Maximum number of pools that a page, or a search for an id, examines."""

logger = logging.getLogger("queueops.redis")


class Registry:
    """The pools of one namespace. Thread-safe.

    A list of a wrong type counts as empty. The pools of the settings and those known to this process remain.
    """

    def __init__(self, settings: Settings, keys: tuple[str, ...], ask: AskCopies) -> None:
        """``keys`` are those of the lists, which are copies of one another."""
        self.keys = keys
        self._settings = settings
        self._ask = ask
        self.announced: dict[str, float] = {}  # until when
        self._known: set[bytes] = set()
        self._broken: dict[str, str] = {}

    @property
    def broken(self) -> tuple[str, ...]:
        """The lists of a wrong type at their last use, each with its actual type."""
        return tuple(self._broken.values())

    def share(self, other: Registry) -> None:
        """Share the known broken lists with another client of this process, so that each is logged once."""
        self._broken = other._broken

    def announce(self, pool: str) -> None:
        """List a pool; callers ask ``announced`` first. A failure does not stop the work: the next call tries again."""
        now = time.monotonic()
        self._known.add(pool.encode())
        try:
            listed = self._in_copies(lambda client, key: client.sadd(key, pool))
        except StoreFull:  # draining works without the listing
            return
        except BrokerUnavailable as error:
            if len(self.keys) == 1:
                raise
            logger.debug("Pool %s is not in the list of pools yet: %s", pool, error)
            return
        if any(answer is not None for answer in listed.values()):
            self.announced[pool] = now + ANNOUNCED_S

    def names(self) -> list[str]:
        """The listed and the declared pools, sorted by name.

        Raises BrokerUnavailable if no copy is readable.
        """
        return pool_names(self._read(lambda client, key: client.smembers(key)), self._settings)

    def seen(self) -> tuple[list[str], str]:
        """At most MOST_POOLS pools, and why the list is not readable; then the pools known from before."""
        reason, found = "", self._known
        try:
            found = self._read(lambda client, key: client.srandmember(key, MOST_POOLS))
        except BrokerUnavailable as error:
            if len(self.keys) == 1:
                raise
            reason = error.reason
        return pool_names(found, self._settings), reason

    def _read(self, call: Any) -> set[bytes]:
        found: set[bytes] = set().union(*(names or () for names in self._in_copies(call).values()))
        if self._broken:
            self.announced.clear()  # they are listed again once that works
            return found | self._known
        self._known = found
        return set(found)

    def _in_copies(self, call: Any) -> dict[str, Any]:
        """Make a call for each copy; a copy on a server that does not answer soon is left out. None: a wrong type."""

        def one(client: Any, key: str) -> Any:
            try:
                answer = call(client, key)
            except ResponseError as error:
                if WRONGTYPE not in str(error):
                    raise
                self._complain(key, f"{key} is a {text(client.type(key))}, not a set")
                return None
            if self._broken.pop(key, None) is not None:
                logger.info("The list of pools is a set again: %s", key)
            return answer

        return self._ask(self.keys, one)

    def _complain(self, key: str, fault: str) -> None:
        if key not in self._broken:
            logger.warning("The list of pools is broken: %s. Delete it, or restore it; until then it is empty.", fault)
        self._broken[key] = fault


def pool_names(found: Iterable[bytes], settings: Settings) -> list[str]:
    """The pools of a namespace, sorted by name: used pools with a valid name, and declared pools."""
    used = {name for raw in found if (name := lane_or_none(raw)) is not None}
    return sorted(used | set(settings.pools) | {"default"})
