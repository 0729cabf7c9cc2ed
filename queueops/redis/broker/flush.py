"""Emptying a pool: all its keys are deleted, in steps."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import redis

from queueops.redis.base import StoreClient
from queueops.redis.keys import flushed

KNOWN_S = 600
"""Seconds for which it is known that a pool was flushed; a watchdog looks at it each second."""
STEP = 1_000
"""About so many keys are looked at in one call; workers and producers go on in between."""


class Flushing(StoreClient):
    """What deletes all that a pool holds. The name of the pool stays in the list of pools."""

    def flush_pool(self, pool: str) -> Iterator[int]:
        """Delete every key of the pool; after each step, how many keys it deleted.

        It scans the keys of the server that holds the pool. What is written meanwhile may stay.
        """
        pattern, cursor = f"{self.keys(pool).prefix}*", 0
        while True:
            cursor, found = self.ask(pool, partial(_scan, pattern, cursor))
            yield self.ask(pool, partial(_unlink, found))
            if not cursor:
                break
        self.ask_key(self._mark(pool), lambda client, key: client.set(key, 1, ex=KNOWN_S))

    def was_flushed(self, pool: str) -> bool:
        """Whether the pool was flushed of late: then what is missing was not lost."""
        return bool(self.ask_key(self._mark(pool), lambda client, key: client.exists(key)))

    def _mark(self, pool: str) -> str:
        return flushed(self.settings.namespace, pool)


def _scan(pattern: str, cursor: int, client: redis.Redis) -> tuple[int, list[bytes]]:
    answer: Any = client.scan(cursor, match=pattern, count=STEP)
    return int(answer[0]), list(answer[1])


def _unlink(keys: list[bytes], client: redis.Redis) -> int:
    answer: Any = client.unlink(*keys) if keys else 0
    return int(answer)
