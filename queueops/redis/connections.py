"""Dedicated connections for one caller, and the differences between versions of redis-py."""

from __future__ import annotations

import inspect
import socket
from typing import Any

import redis

from queueops.errors import QueueOpsError

TAKES_TIMEOUT = "timeout" in inspect.signature(redis.Connection.read_response).parameters
"""Whether reading one reply can have its own timeout: redis-py 8 supports this, older versions do not."""

DRIVER: dict[str, Any] = {"driver_info": redis.DriverInfo()} if hasattr(redis, "DriverInfo") else {}
"""The version of redis-py that connections name. Without it, redis-py 8 reads its package's metadata for each."""


def own_connection(client: Any, **options: Any) -> Any:
    """Make a dedicated connection to a client's server; not connected yet. ``options`` override the client's."""
    pool = client.connection_pool
    return pool.connection_class(**pool.connection_kwargs | options)


def expect_private(owner: type, name: str) -> None:
    """Raise QueueOpsError if this version of redis-py does not have this private attribute."""
    if not hasattr(owner, name):
        raise QueueOpsError(
            f"redis-py {redis.__version__} has no {owner.__name__}.{name}, which QueueOps needs. "
            "Install a version of redis-py that this version of QueueOps names."
        )


def socket_of(connection: Any) -> socket.socket:
    """The socket of an open connection."""
    found = getattr(connection, "_sock", None)
    if found is None:
        raise QueueOpsError(
            f"redis-py {redis.__version__} does not show the socket of a connection, which QueueOps waits on. "
            "Install a version of redis-py that this version of QueueOps names."
        )
    return found  # type: ignore[no-any-return]


def read_reply(connection: Any, seconds: float | None = None) -> Any:
    """Read the next reply; wait at most this many seconds, and no longer than the connection's own timeout."""
    own = connection.socket_timeout
    if seconds is None or (own is not None and own <= seconds):
        return connection.read_response()
    if TAKES_TIMEOUT:
        return connection.read_response(timeout=seconds)
    line = socket_of(connection)
    before = line.gettimeout()
    line.settimeout(seconds)
    try:
        return connection.read_response()
    finally:
        if line.fileno() >= 0:  # a connection that timed out is closed
            line.settimeout(before)
