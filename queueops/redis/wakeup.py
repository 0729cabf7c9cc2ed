"""Wake-up token receiver: a worker's blocking BLPOP, on a dedicated connection.

One ``BLPOP`` is pending at a time. The worker selects on its socket together with its own events, so that one thread
serves both. Redis cannot tell a waiting client that its connection was cut. So the wait ends by itself after
``PATIENCE_S``, and is repeated. A server that does not end it in time is silent.
"""

from __future__ import annotations

import time
from typing import Any

from queueops.model.contracts import Lease
from queueops.redis import deadlines, wire
from queueops.redis.connections import own_connection, socket_of
from queueops.redis.watchful import Watchful

PATIENCE_S, WATCHFUL_S = 20, 1
"""Seconds of one BLPOP: of one server, and of a primary that a replica may replace."""
LATE_S = 1.0
"""Seconds that the end of a BLPOP may be late."""


class RedisWaker:
    """One pending BLPOP. Not thread-safe."""

    def __init__(self, client: Any, pool: str, key: str) -> None:
        """Open a connection to the server of ``client``, which holds ``key``, and start to wait."""
        self._pool = pool
        self._key = key
        self._connection = own_connection(client)
        self._seconds = WATCHFUL_S if isinstance(self._connection, Watchful) else PATIENCE_S
        self.patience_s = self._seconds + LATE_S
        """Seconds after `arm` in which a server that is well answers."""
        deadlines.mine.since = time.monotonic()
        try:
            self._connection.connect()
        finally:
            deadlines.mine.since = None
        self.arm()

    def fileno(self) -> int:
        """The descriptor to select on."""
        return socket_of(self._connection).fileno()

    def read(self) -> list[str | Lease]:
        """The token that has arrived. For a readable descriptor; raises on a lost connection."""
        reply = self._connection.read_response()
        return [] if reply is None else [wire.read_token(self._pool, reply[1])]

    def arm(self) -> None:
        """Wait again after a ``read``; tokens that came in between are in the list. Raises on a lost connection."""
        self._connection.send_command("BLPOP", self._key, self._seconds)

    def close(self) -> None:
        """Close the connection; a token on its way stays in the list for the next wait."""
        self._connection.disconnect()
