"""Use of the Lua libraries, and of the keys of the encryption: when a process with each last called the store.

The watchdog deletes old libraries, and an alarm compares the keys. A sorted set of the namespace has both by that time.
Each process notes its own once a minute, while it works: the library, and the ids of its keys in their order.
Times are those of the processes' clocks: a difference of minutes does not matter beside a day.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from typing import Any

from redis.exceptions import RedisError, ResponseError

from queueops.errors import QueueOpsError
from queueops.redis.fanout import AskCopies
from queueops.redis.query_replies import text
from queueops.redis.scripts import Scripts
from queueops.redis.wrong_types import right

NOTED_S = 60.0
"""Seconds between two notes of a process."""
MOST, FORGOTTEN_S = 50, 30 * 86_400.0
"""The most libraries that are kept, and for how many seconds."""

KEYS = "keys:"
"""How the entry of a process's keys begins. No library has such a name."""

logger = logging.getLogger("queueops.redis")


class LibraryUse:
    """The libraries in use in one namespace. Thread-safe: a note more does no harm."""

    def __init__(self, scripts: Scripts, keys: tuple[str, ...], ask: AskCopies, key_ids: Sequence[str] = ()) -> None:
        """Bind the calls of the library that is noted, the keys of the sets, and the ids of the encryption's keys."""
        self.keys = keys
        self._key_ids = ",".join(key_ids)
        self._scripts = scripts
        self._ask = ask
        self.due_at = 0.0
        """When the use is noted again."""

    def note(self) -> None:
        """Note its library and keys for this process, at most once a minute. A failure does not stop the work."""
        now, has_library = time.monotonic(), self._scripts.has_functions
        if now < self.due_at or not (has_library or self._key_ids):
            return
        self.due_at = now + NOTED_S
        row = {KEYS + self._key_ids: round(time.time())}
        if has_library:
            row[self._scripts.library.name] = round(time.time())
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

    def key_ids(self, within_s: float) -> list[list[str]]:
        """The ids of keys of the processes that worked within this time, in the order of their settings.

        A set of a wrong type counts as empty. Raises BrokerUnavailable.
        """
        begin = time.time() - within_s
        try:
            found = self._ask(self.keys, lambda client, key: client.zrangebyscore(key, begin, "+inf"))
        except ResponseError as error:
            found = {"": right(error) or ()}
        noted = {text(member) for members in found.values() for member in members}
        return [each.removeprefix(KEYS).split(",") for each in sorted(noted) if each.startswith(KEYS)]

    def forget(self, name: str) -> None:
        """Forget a library that was deleted. If a process loads it again, it is kept for another day."""
        self._ask(self.keys, lambda client, key: client.zrem(key, name))
