"""Slow clients: gunicorn's threads with a time limit for reading each request and for sending each answer.

gunicorn's own `gthread` limits only the wait for the first byte. A client that sends its header byte by byte keeps a
thread as long as it likes. As many such clients as there are threads stop the server.
"""

from __future__ import annotations

import errno
import os
import socket
from contextlib import suppress
from time import monotonic
from typing import Any

from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]

HEADER_WITHIN = float(os.environ.get("QUEUEOPS_HEADER_WITHIN") or 10)
BODY_WITHIN = float(os.environ.get("QUEUEOPS_BODY_WITHIN") or 30)
ANSWER_WITHIN = float(os.environ.get("QUEUEOPS_ANSWER_WITHIN") or 60)
"""Seconds in which a client must send a header, then its body, and take the answer, in any number of parts."""

LINGER = 1.0


class TimedSocket(socket.socket):
    """A connection with a deadline for reading and sending; afterwards it acts as if the client had closed it."""

    read_until = send_until = float("inf")

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        """Receive, until `read_until`."""
        try:
            self._limit(self.read_until)
            return super().recv(size, flags)
        except TimeoutError:
            raise _reset("the client sends its request too slowly") from None

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        """Send all data, until `send_until`."""
        if self.send_until == float("inf"):  # the view's run time does not count for the client
            self.send_until = monotonic() + ANSWER_WITHIN
        try:
            self._limit(self.send_until)
            super().sendall(data, flags)
        except TimeoutError:
            raise _reset("the client takes the answer too slowly") from None

    def linger(self) -> None:
        """Shut down sending and read the rest of the request, so that the client gets the whole answer.

        gunicorn does this in its only loop, for 2 s for each client; here the loop finds an empty socket.
        """
        self.read_until = monotonic() + LINGER
        with suppress(OSError):
            self.shutdown(socket.SHUT_WR)
            while self.recv(4096):
                pass
        self.read_until = 0

    def _limit(self, until: float) -> None:
        if until == float("inf"):
            self.settimeout(None)
        elif (left := until - monotonic()) > 0:
            self.settimeout(left)
        else:
            raise TimeoutError


class TimedThreads(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """`gthread` with time limits; not for TLS, which wraps the socket."""

    def enqueue_req(self, conn: Any) -> None:
        """Set the limits of a new connection, before the parser takes its socket."""
        if not isinstance(conn.sock, TimedSocket):
            conn.sock = TimedSocket(fileno=conn.sock.detach())
        super().enqueue_req(conn)

    def handle(self, conn: Any) -> Any:
        """Read one request and answer it, in a thread. Time in the queue does not count."""
        conn.sock.read_until = monotonic() + HEADER_WITHIN
        conn.sock.send_until = float("inf")
        goes_on = super().handle(conn)
        if goes_on is False:
            conn.sock.linger()
        return goes_on

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Answer a request whose header has been read."""
        conn.sock.read_until = monotonic() + BODY_WITHIN
        return super().handle_request(req, conn)


def _reset(why: str) -> ConnectionResetError:
    return ConnectionResetError(errno.ECONNRESET, why)  # gunicorn writes no traceback for this one
