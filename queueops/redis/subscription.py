"""Pub/sub listener: one connection for one thread, which selects on it together with its own events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import redis

from queueops.errors import BrokerUnavailable
from queueops.redis.connections import own_connection, socket_of
from queueops.redis.error_translation import unavailable
from queueops.redis.store_client import StoreClient

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
            self._connection = own_connection(broker.at(pool))
            self._connection.connect()
        except (redis.RedisError, OSError) as error:
            raise self._lost(error) from error

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
        """The messages that have arrived, up to a limit. Call it when the descriptor is readable."""
        heard: list[Heard] = []
        try:
            while len(heard) < MOST_AT_ONCE and self._connection.can_read(0):
                word, channel, data = self._connection.read_response()
                heard.append(Heard(word.decode(), channel.decode(), data if isinstance(data, bytes) else b""))
        except (redis.RedisError, OSError) as error:
            raise self._lost(error) from error
        return heard

    def close(self) -> None:
        """Close the connection."""
        self._connection.disconnect()

    def _send(self, command: str, channels: Sequence[str]) -> None:
        try:
            self._connection.send_command(command, *channels)
        except (redis.RedisError, OSError) as error:
            raise self._lost(error) from error

    def _lost(self, error: Any) -> BrokerUnavailable:
        return unavailable(error, self._broker.settings.url)
