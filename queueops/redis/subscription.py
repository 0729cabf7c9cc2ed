"""Pub/sub listener: one connection for one thread, which selects on it together with its own events.

A server that stands still closes no connection, and a listener has no reply to wait for. So it asks a quiet server for
one (PING). The health check of redis-py sends that PING, too, but does not look whether an answer comes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import redis

from queueops.errors import BrokerUnavailable
from queueops.redis.connections import own_connection, socket_of
from queueops.redis.error_translation import unavailable
from queueops.redis.store_client import StoreClient
from queueops.redis.watchful import LOOK_S, Watchful

READ_EVERY_S = LOOK_S
"""Seconds after which a listener wants to be read, even without a message."""
QUIET_S = 10.0
"""Seconds of silence until a server is asked for an answer; a primary that a replica may replace: LOOK_S."""
MOST_AT_ONCE = 1_000
"""Messages in one read: more may arrive before these were handled."""


class Heard(NamedTuple):
    """One message: `subscribe`, `unsubscribe` or `message`, its channel, and the data of a `message`."""

    word: str
    channel: str
    data: bytes


class RedisListener:
    """Receives the messages of its channels. Not thread-safe.

    To subscribe, to unsubscribe and to read raise BrokerUnavailable if the connection is lost: make another listener.
    """

    def __init__(self, broker: StoreClient, pool: str = "default") -> None:
        """Connect to the server that holds a pool: messages come from there, even if the rest of a cluster is down."""
        self._broker = broker
        try:
            self._connection = own_connection(broker.at(pool), health_check_interval=0)
            self._connection.connect()
        except (redis.RedisError, OSError) as error:
            raise self._lost(error) from error
        self._watchful = self._connection if isinstance(self._connection, Watchful) else None
        self._quiet_s = LOOK_S if self._watchful else QUIET_S
        self._check_at = time.monotonic() + self._quiet_s
        self._lost_at: float | None = None

    def fileno(self) -> int:
        """The descriptor to select on."""
        return socket_of(self._connection).fileno()

    def subscribe(self, channels: Sequence[str]) -> None:
        """Subscribe to channels; `read` returns a confirmation of each."""
        self._send("SUBSCRIBE", channels)

    def unsubscribe(self, channels: Sequence[str]) -> None:
        """Unsubscribe from channels."""
        self._send("UNSUBSCRIBE", channels)

    def read(self) -> list[Heard]:
        """The messages that have arrived, up to a limit. Call it when the descriptor is readable, and each second.

        A server that owes an answer for `socket_timeout`, or that is not the primary any more, is lost.
        """
        heard: list[Heard] = []
        try:
            while len(heard) < MOST_AT_ONCE and self._connection.can_read(0):
                reply = self._connection.read_response()
                self._lost_at, self._check_at = None, time.monotonic() + self._quiet_s
                if isinstance(reply, list) and len(reply) == 3:  # else it answers a PING
                    word, channel, data = reply
                    heard.append(Heard(word.decode(), channel.decode(), data if isinstance(data, bytes) else b""))
            if not heard and time.monotonic() >= self._check_at:
                self._check()
        except (redis.RedisError, OSError) as error:
            raise self._lost(error) from error
        return heard

    def close(self) -> None:
        """Close the connection."""
        self._connection.disconnect()

    def _check(self) -> None:
        now = time.monotonic()
        self._check_at = now + LOOK_S
        if self._lost_at is None:
            self._lost_at = now + (self._connection.socket_timeout or float("inf"))
            self._connection.send_command("PING")
        elif now >= self._lost_at:
            raise redis.TimeoutError("the server did not answer a listener")
        elif self._watchful is not None:
            self._watchful.look()

    def _send(self, command: str, channels: Sequence[str]) -> None:
        try:
            self._connection.send_command(command, *channels)
        except (redis.RedisError, OSError) as error:
            raise self._lost(error) from error

    def _lost(self, error: Any) -> BrokerUnavailable:
        return unavailable(error, self._broker.settings.url)
