"""One pub/sub connection, for one thread that selects on it together with its own events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import redis

from queueops.errors import BrokerUnavailable
from queueops.redis.broker import RedisBroker
from queueops.redis.connections import own_connection, socket_of
from queueops.redis.replies import unavailable

MOST_AT_ONCE = 1_000
"""Messages in one go: there may be more before these were read."""


class Heard(NamedTuple):
    """One message of a connection: `subscribe`, `unsubscribe` or `message`, its channel, and of a message the data."""

    word: str
    channel: str
    data: bytes


class RedisListener:
    """Hears the messages of the channels that it subscribes to. Not for several threads.

    Every method raises BrokerUnavailable when the connection is lost: close it and make another one.
    """

    def __init__(self, broker: RedisBroker, pool: str = "default") -> None:
        """Connect to the server that holds a pool: its messages come from there, whatever else of a cluster is down."""
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
        """Ask for channels; `read` answers each with a confirmation."""
        self._send("SUBSCRIBE", channels)

    def unsubscribe(self, channels: Sequence[str]) -> None:
        """Ask for no more of them."""
        self._send("UNSUBSCRIBE", channels)

    def read(self) -> list[Heard]:
        """What has come, at most so much at once. Call it when the descriptor can be read."""
        heard: list[Heard] = []
        try:
            while len(heard) < MOST_AT_ONCE and self._connection.can_read(0):
                word, channel, data = self._connection.read_response()
                heard.append(Heard(word.decode(), channel.decode(), data if isinstance(data, bytes) else b""))
        except (redis.RedisError, OSError) as error:
            raise self._lost(error) from error
        return heard

    def close(self) -> None:
        """Hang up."""
        self._connection.disconnect()

    def _send(self, command: str, channels: Sequence[str]) -> None:
        try:
            self._connection.send_command(command, *channels)
        except (redis.RedisError, OSError) as error:
            raise self._lost(error) from error

    def _lost(self, error: Any) -> BrokerUnavailable:
        return unavailable(error, self._broker.settings.url)
