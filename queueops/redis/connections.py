"""Connections that one caller owns, and what differs between the versions of redis-py."""

from __future__ import annotations

import inspect
import socket
from typing import Any

import redis

from queueops.errors import QueueOpsError

TAKES_TIMEOUT = "timeout" in inspect.signature(redis.Connection.read_response).parameters
"""Whether one reply can be waited for with a timeout of its own: redis-py 8 can, older versions cannot."""


def own_connection(client: Any, **options: Any) -> Any:
    """A connection of its own to the server of a client; not connected yet. ``options`` win over the client's."""
    pool = client.connection_pool
    return pool.connection_class(**pool.connection_kwargs | options)


def expect_private(owner: type, name: str) -> None:
    """Raise QueueOpsError where this version of redis-py has no such private part."""
    if not hasattr(owner, name):
        raise QueueOpsError(
            f"redis-py {redis.__version__} has no {owner.__name__}.{name}, which QueueOps needs. "
            "Install a version of redis-py that this version of QueueOps names."
        )


def socket_of(connection: Any) -> socket.socket:
    """The socket of a connection that is connected."""
    found = getattr(connection, "_sock", None)
    if found is None:
        raise QueueOpsError(
            f"redis-py {redis.__version__} does not show the socket of a connection, which QueueOps waits on. "
            "Install a version of redis-py that this version of QueueOps names."
        )
    return found  # type: ignore[no-any-return]


def read_reply(connection: Any, seconds: float | None = None) -> Any:
    """The next reply, waited for at most so many seconds (None: as long as the connection's own timeout says)."""
    if seconds is None:
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
