"""Live events, while somebody follows them: they are only published as long as `P:tail` is kept alive."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import redis

from queueops.redis.broker import RedisBroker
from queueops.redis.keys import Keys
from queueops.redis.replies import translate

LISTENING_S = 30
RENEW_S = 10.0
PATIENCE_S = 0.5
"""How long one wait for a message lasts: the follower looks at the time, and at signals, in between."""


class Tail:
    """Follows the events of pools; for one thread. Close it when done."""

    def __init__(self, broker: RedisBroker, pools: Sequence[str]) -> None:
        """Bind; the first event comes after `follow` has begun."""
        self._broker = broker
        self._keys = {Keys(broker.settings.namespace, pool).events: pool for pool in pools}
        self._pubsub: Any = broker.client.pubsub(ignore_subscribe_messages=True)
        self._renew_at = 0.0

    def follow(self, seconds: float | None = None) -> Iterator[tuple[str, bytes]]:
        """Each event as (pool, JSON), for so many seconds or for ever. Raises BrokerUnavailable."""
        end = None if seconds is None else time.monotonic() + seconds
        try:
            self._pubsub.subscribe(*self._keys)
            while end is None or time.monotonic() < end:
                self._renew()
                message = self._pubsub.get_message(timeout=PATIENCE_S)
                if message is not None:
                    yield self._keys[message["channel"].decode()], message["data"]
        except (redis.RedisError, OSError) as error:
            raise translate(error, self._broker.settings.url) or error from error

    def close(self) -> None:
        """Hang up."""
        self._pubsub.close()

    def _renew(self) -> None:
        if time.monotonic() < self._renew_at:
            return
        for pool in self._keys.values():
            self._broker.client.set(Keys(self._broker.settings.namespace, pool).tail, 1, ex=LISTENING_S)
        self._renew_at = time.monotonic() + RENEW_S
