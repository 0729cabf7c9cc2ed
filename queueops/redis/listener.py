"""One pub/sub connection, for one thread that selects on it together with its own events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis

from queueops.errors import BrokerUnavailable
from queueops.redis.broker import RedisBroker
from queueops.redis.replies import unavailable
from queueops.redis.waker import connection_for


class RedisListener:
    """Hears the messages of the channels that it subscribes to. Not for several threads.

    Every method raises BrokerUnavailable when the connection is lost: close it and make another one.
    """

    def __init__(self, broker: RedisBroker) -> None:
        """Connect; a message goes to every node of a cluster, so that any will do."""
        self._broker = broker
        try:
            self._connection = connection_for(broker.client, broker.keys("default").prefix)
            self._connection.connect()
        except (redis.RedisError, OSError) as error:
            raise self._lost(error) from error

    def fileno(self) -> int:
        """The descriptor to select on."""
        return int(self._connection._sock.fileno())

    def subscribe(self, channels: Sequence[str]) -> None:
        """Ask for channels; `read` answers each with a confirmation."""
        self._send("SUBSCRIBE", channels)

    def unsubscribe(self, channels: Sequence[str]) -> None:
        """Ask for no more of them."""
        self._send("UNSUBSCRIBE", channels)

    def read(self) -> list[tuple[str, str]]:
        """What has come: (`subscribe` or `message`, channel). Call it when the descriptor can be read."""
        heard = []
        try:
            while self._connection.can_read(0):
                word, channel, _ = self._connection.read_response()
                heard.append((word.decode(), channel.decode()))
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
