"""Pool flush: deletes all keys of a pool, in steps."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import redis

from queueops.redis.keys import flushed
from queueops.redis.store_client import StoreClient

KNOWN_S = 600
"""Seconds for which a flush is remembered; a watchdog checks this each second."""
STEP = 1_000
"""About how many keys one call examines; workers and producers continue in between."""


class FlushCalls(StoreClient):
    """Deletes everything that a pool holds. The pool's name stays in the list of pools."""

    def flush_pool(self, pool: str) -> Iterator[int]:
        """Delete every key of the pool; yield after each step how many keys it deleted.

        It scans the keys of the pool's server. What is written meanwhile may remain.
        """
        pattern, cursor = f"{self.keys(pool).prefix}*", 0
        while True:
            cursor, found = self.ask(pool, partial(_scan, pattern, cursor))
            yield self.ask(pool, partial(_unlink, found))
            if not cursor:
                break
        self.ask_key(self._mark(pool), lambda client, key: client.set(key, 1, ex=KNOWN_S))

    def was_flushed(self, pool: str) -> bool:
        """Whether the pool was flushed recently. Missing data was then deleted, and not lost."""
        return bool(self.ask_key(self._mark(pool), lambda client, key: client.exists(key)))

    def _mark(self, pool: str) -> str:
        return flushed(self.settings.namespace, pool)


def _scan(pattern: str, cursor: int, client: redis.Redis) -> tuple[int, list[bytes]]:
    answer: Any = client.scan(cursor, match=pattern, count=STEP)
    return int(answer[0]), list(answer[1])


def _unlink(keys: list[bytes], client: redis.Redis) -> int:
    answer: Any = client.unlink(*keys) if keys else 0
    return int(answer)
