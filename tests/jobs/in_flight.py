"""Requests in flight: how many of one label a server works on at the same moment, of clients that are still alive."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator


class InFlight:
    """Counts at the arrival of each request. The kernel closes the connections of a killed process: it has no request.

    So a request that the next worker makes after a kill is not counted beside the one that died.
    """

    def __init__(self) -> None:
        self.most: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._connections: dict[str, set[socket.socket]] = defaultdict(set)

    @contextlib.contextmanager
    def request(self, label: str, connection: socket.socket) -> Iterator[None]:
        """One request of a client."""
        with self._lock:
            there = self._connections[label]
            there.add(connection)
            self.seen[label] += 1
            self.most[label] = max(self.most[label], sum(map(is_open, there)))
        try:
            yield
        finally:
            with self._lock:
                self._connections[label].discard(connection)


def is_open(connection: socket.socket) -> bool:
    """Whether the client still waits at the other end."""
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
