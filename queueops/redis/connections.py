"""Dedicated connections for one caller, and the differences between versions of redis-py."""

from __future__ import annotations

import inspect
import os
import select
import socket
import time
from typing import Any

import redis

from queueops.errors import QueueOpsError

TAKES_TIMEOUT = "timeout" in inspect.signature(redis.Connection.read_response).parameters
"""Whether reading one reply can have its own timeout: redis-py 8 supports this, older versions do not."""

DRIVER: dict[str, Any] = {"driver_info": redis.DriverInfo()} if hasattr(redis, "DriverInfo") else {}
"""The version of redis-py that connections name. Without it, redis-py 8 reads its package's metadata for each."""

AWAKE = 150e-6
"""Maximum seconds of polling; a server on the same machine has answered by then."""
RARELY = 64
"""Maximum number of replies in a row that are awaited asleep before polling is tried again."""


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


class SpinWait:
    """Polls for a reply that is about to arrive, before the thread sleeps. For one connection, in one thread.

    A thread that sleeps until its reply arrives is woken late. Waking an idle processor takes longer than the server's
    work. So a producer polls for the reply for a moment before it sleeps. It polls rarely if that was in vain, as with
    a remote server.
    """

    __slots__ = ("_missed", "_poll", "_resting")

    def __init__(self, descriptor: int) -> None:
        """``descriptor`` is that of the connection's socket.

        With one processor, polling would only delay the server. With green threads, or under Windows, polling is not
        possible.
        """
        self._resting = 0
        self._missed = 0
        self._poll = select.poll() if _processors() > 1 and hasattr(select, "poll") else None
        if self._poll is not None:
            self._poll.register(descriptor, select.POLLIN)

    def keep(self) -> None:
        """Return when a reply has arrived, or when it is better to sleep until it arrives."""
        if self._poll is None:
            return
        if self._resting:
            self._resting -= 1
            return
        poll, end = self._poll.poll, time.perf_counter() + AWAKE
        while not poll(0):
            if time.perf_counter() > end:
                self._missed = min(RARELY, 2 * self._missed + 1)
                self._resting = self._missed
                return
        self._missed = 0


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
