"""Watchful connections: while they wait for a reply, they look whether another server is the primary now.

A server that stands still closes no connection. Without a look, a caller would wait for its whole timeout, long after a
replica has taken over. A server that is only slow is waited for as ever. What one connection finds, all of its client
know: none of them begins to wait for a server that is replaced.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn

import redis

LOOK_S = 1.0
"""Seconds of silence between two looks."""

IsReplaced = Callable[[str, int], bool]
"""Whether the server at a host and a port is known not to be a primary any more."""


class Watchful:
    """Added to a class of redis-py's connections by `watch`."""

    host: str
    port: int
    socket_timeout: float | None
    can_read: Callable[..., bool]
    disconnect: Callable[[], None]
    _sock: Any = None
    _connected_at = 0.0

    def __init__(self, *, is_replaced: IsReplaced, replaced_at: dict[tuple[str, int], float], **options: Any) -> None:
        """``replaced_at`` has the servers that any connection of the client has found replaced, and when."""
        self._is_replaced, self._replaced_at = is_replaced, replaced_at
        super().__init__(**options)

    def connect(self, *args: Any, **options: Any) -> None:
        """As redis-py."""
        if self._sock is None:
            self._connected_at = time.monotonic()
        super().connect(*args, **options)  # type: ignore[misc]  # of the other base

    def send_packed_command(self, *args: Any, **options: Any) -> None:
        """As redis-py. Raises ConnectionError if the server was found replaced since this connection was made."""
        if self._sock is None:
            self._connected_at = time.monotonic()
        elif self._replaced_at.get((self.host, self.port), 0.0) > self._connected_at:
            self._leave()
        super().send_packed_command(*args, **options)  # type: ignore[misc]  # of the other base

    def read_response(self, *args: Any, **options: Any) -> Any:
        """As redis-py. Raises ConnectionError as soon as a look finds another primary."""
        if self._sock is not None:
            seconds = options.get("timeout")
            self._wait(seconds if isinstance(seconds, int | float) else self.socket_timeout)
        return super().read_response(*args, **options)  # type: ignore[misc]  # of the other base

    def _wait(self, seconds: float | None) -> None:
        end = float("inf") if seconds is None else time.monotonic() + seconds
        while not self.can_read(timeout=max(0.0, min(LOOK_S, end - time.monotonic()))):
            if time.monotonic() >= end:
                self.disconnect()
                raise redis.TimeoutError(f"Timeout reading from {self.host}:{self.port}")
            self.look()

    def look(self) -> None:
        """Raise ConnectionError if another server is the primary now."""
        if self._is_replaced(self.host, self.port):
            self._replaced_at[self.host, self.port] = time.monotonic()
            self._leave()

    def _leave(self) -> NoReturn:
        self.disconnect()
        raise redis.ConnectionError(f"{self.host}:{self.port} did not answer, and is not the primary any more")


def watch(client: redis.Redis, is_replaced: IsReplaced) -> redis.Redis:
    """The client, whose connections are watchful from now on."""
    pool = client.connection_pool
    pool.connection_class = _watchful(pool.connection_class)
    pool.connection_kwargs |= {"is_replaced": is_replaced, "replaced_at": {}}
    return client


@cache
def _watchful(base: type) -> Any:
    return type(f"Watchful{base.__name__}", (Watchful, base), {})
