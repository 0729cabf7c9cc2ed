"""Durable pushes: WAITAOF on a dedicated connection confirms that the append-only file holds what was pushed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import redis
from redis.exceptions import ResponseError

from queueops.errors import NotDurable
from queueops.errors.refusals import DurabilityUnsupported
from queueops.redis.connections import own_connection
from queueops.redis.error_translation import is_later, said
from queueops.redis.store_client import StoreClient

DURABLE_S = 5.0
"""How long a durable push waits for the append-only file."""
WANTED = "the append-only file"


class Confirmation:
    """Confirms pushes to one pool. Made before the push: raises DurabilityUnsupported if the server cannot confirm."""

    def __init__(self, link: StoreClient, pool: str) -> None:
        self._link = link
        self._pool = pool
        self._line: Any = link.repeat(self._connect, pool=pool)

    def wait(self) -> None:
        """Called after the push: write once more, and return when that write is on disk. Raises NotDurable.

        WAITAOF waits for the writes of its own connection; the push came before this one.
        """
        what, key = f"a task to pool {self._pool}", self._link.keys(self._pool).seq
        try:
            self._ask("INCRBY", key, 1)
            local, _ = self._ask("WAITAOF", 1, 0, round(DURABLE_S * 1000))
        except (redis.RedisError, OSError) as error:
            raise NotDurable(what=what, wanted=f"{WANTED} ({said(error).rstrip('. ')})", seconds=0) from error
        if not local:
            raise NotDurable(what=what, wanted=WANTED, seconds=DURABLE_S)

    def close(self) -> None:
        """Close the connection."""
        self._line.disconnect()

    def _connect(self) -> Any:
        """Connect to a server that can confirm: WAITAOF returns at once if nothing was written before it."""
        self._line = own_connection(self._link.at(self._pool), socket_timeout=DURABLE_S + 1)
        try:
            self._line.connect()
            self._ask("WAITAOF", 1, 0, 1)
        except ResponseError as error:
            self.close()
            if is_later(error):
                raise
            raise DurabilityUnsupported(pool=self._pool, reason=said(error).rstrip(". ")) from error
        return self._line

    def _ask(self, *command: Any) -> Any:
        self._line.send_command(*command)
        return self._line.read_response()


@contextmanager
def confirmed(link: StoreClient, pools: Iterable[str]) -> Iterator[None]:
    """Wrap a push to these pools. Nothing is written if a server cannot confirm; all is on disk at the end.

    Raises DurabilityUnsupported before the push, and NotDurable after it.
    """
    made: list[Confirmation] = []
    try:
        for pool in pools:
            made.append(Confirmation(link, pool))
        yield
        for each in made:
            each.wait()
    finally:
        for each in made:
            each.close()
