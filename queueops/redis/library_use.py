"""Use of the Lua libraries: when a process of each version last called the store. The watchdog deletes old ones.

A sorted set of the namespace has the libraries by that time. Each process notes its own once a minute, while it works.
Times are those of the processes' clocks: a difference of minutes does not matter beside a day.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Any

from redis.exceptions import RedisError

from queueops.errors import QueueOpsError
from queueops.redis.fanout import AskCopies
from queueops.redis.query_replies import text
from queueops.redis.scripts import Scripts

NOTED_S = 60.0
"""Seconds between two notes of a process."""
MOST, FORGOTTEN_S = 50, 30 * 86_400.0
"""The most libraries that are kept, and for how many seconds."""

logger = logging.getLogger("queueops.redis")


class LibraryUse:
    """The libraries in use in one namespace. Thread-safe: a note more does no harm."""

    def __init__(self, scripts: Scripts, keys: tuple[str, ...], ask: AskCopies) -> None:
        """Bind the calls of the library that is noted, and the keys of the sets."""
        self.keys = keys
        self._scripts = scripts
        self._ask = ask
        self.due_at = 0.0
        """When the use is noted again."""

    def note(self) -> None:
        """Note that this process uses its library, at most once a minute. A failure does not stop the work."""
        now = time.monotonic()
        if now < self.due_at or not self._scripts.has_functions:
            return
        self.due_at = now + NOTED_S
        row = {self._scripts.library.name: round(time.time())}
        try:
            self._ask(self.keys, lambda client, key: client.zadd(key, row, gt=True))
        except (QueueOpsError, RedisError) as error:
            logger.debug("The use of the Lua library is not noted: %s", error)

    def ages(self, names: Iterable[str]) -> dict[str, float]:
        """Seconds since the last use of each library. One that is not known yet counts as used now, and is noted so.

        Raises BrokerUnavailable.
        """
        now, names = round(time.time()), list(names)

        def read(client: Any, key: str) -> Any:
            if names:
                client.zadd(key, dict.fromkeys(names, now), nx=True)
            client.zremrangebyscore(key, "-inf", now - FORGOTTEN_S)
            client.zremrangebyrank(key, 0, -MOST - 1)
            return client.zrange(key, 0, -1, withscores=True)

        latest: dict[str, float] = {}
        for rows in self._ask(self.keys, read).values():
            for name, at in rows:
                latest[text(name)] = max(at, latest.get(text(name), 0.0))
        return {name: max(0.0, now - latest.get(name, now)) for name in names}

    def forget(self, name: str) -> None:
        """Forget a library that was deleted. If a process loads it again, it is kept for another day."""
        self._ask(self.keys, lambda client, key: client.zrem(key, name))
