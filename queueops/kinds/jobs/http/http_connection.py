"""HTTP connection: urllib3's, to addresses that were checked, with an end in time and answers that are whole.

The sockets end at the deadline of the request. The answer is read by `http.client`, which takes some answers as whole
that are not. These are refused here.
"""

from __future__ import annotations

import errno
import http.client
import io
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

try:
    from urllib3.connection import HTTPConnection, HTTPSConnection
    from urllib3.exceptions import HTTPError
except ModuleNotFoundError as error:  # pragma: no cover - the tests have the extra
    raise ModuleNotFoundError(f"{error}. Jobs need more packages: pip install 'queueops[jobs]'") from error

from queueops.kinds.jobs.http.http_failures import AttemptFailed, FailureKind
from queueops.kinds.jobs.http.net_guard import public_addresses
from queueops.kinds.jobs.settings import JobSettings

Value = TypeVar("Value")

MOST_BESIDE = 100 * 1024
"""Most bytes in a row that are no body: the head of an answer, what stands between chunks, and what follows them."""
BROKEN_OFF = (ssl.SSLEOFError, ssl.SSLSyscallError, ssl.SSLZeroReturnError)
"""Errors of TLS that say no more than that the connection has ended."""
OF_THE_BODY = re.compile(r"^\s*(?:content-|transfer-)", re.IGNORECASE | re.MULTILINE)
"""Headers that say what the body is."""


class Deadline:
    """The end of a request in time, for all of its connections."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def cut(self, timeout: float | None) -> float:
        """The shorter of a timeout and the rest of the time. Raises AttemptFailed when none is left."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise AttemptFailed(FailureKind.TIMEOUT, f"It took longer than {self.seconds:g} s.")
        return left if timeout is None else min(timeout, left)


@dataclass(frozen=True, slots=True)
class Call:
    """What the connections of a request must know."""

    what: str  # is asked: url, proxy or callback
    settings: JobSettings
    deadline: Deadline


CALL: ContextVar[Call] = ContextVar("call")
"""The call that this thread makes."""


class TimedSocket(socket.socket):
    """Socket whose calls end in time, also if the other side sends a byte at a time."""

    has_answered = False  # something came since the request
    has_more = False  # something came after the answer
    is_paused = False  # gives no more than what has come

    def recv(self, *args: Any) -> bytes:
        """Receive something."""
        return self._timed(super().recv, *args)

    def recv_into(self, *args: Any) -> int:
        """Receive something into a buffer."""
        if self.is_paused:
            raise BlockingIOError(errno.EAGAIN, "paused")
        count = self._timed(super().recv_into, *args)
        self.has_answered = self.has_answered or count > 0
        return count

    def send(self, *args: Any) -> int:
        """Send a part."""
        return self._timed(super().send, *args)

    def sendall(self, data: Any, *args: Any) -> None:
        """Send all of it."""
        left = memoryview(data)
        while left:
            left = left[self.send(left) :]

    def _timed(self, act: Callable[..., Value], *args: Any) -> Value:
        call = CALL.get()
        self.settimeout(call.deadline.cut(call.settings.read_timeout))
        try:
            return act(*args)
        except TimeoutError as error:
            call.deadline.cut(None)
            raise AttemptFailed(FailureKind.TIMEOUT, "The other side was silent for too long.") from error


class TimedTlsSocket(TimedSocket, ssl.SSLSocket):
    """The same with TLS. An end without the alert that belongs to it is an error: the body may be cut off."""

    def do_handshake(self, block: bool = False) -> None:
        """Make the handshake in time."""
        self.suppress_ragged_eofs = False
        self.settimeout(CALL.get().deadline.cut(CALL.get().settings.connect_timeout))
        super().do_handshake(block)


class _Reader(io.BufferedReader):
    """The bytes of an answer, with a limit for those that are no body."""

    beside, is_head = 0, False

    def readline(self, size: int | None = -1) -> bytes:
        """A line. A cut one is none."""
        line = super().readline(size)
        self.beside += len(line)
        if self.beside > MOST_BESIDE:
            raise http.client.HTTPException(f"More than {MOST_BESIDE:,} bytes came without a body.")
        if not line.endswith(b"\n") and len(line) != size and (line or self.is_head):
            raise http.client.HTTPException("The server has hung up without an answer.")
        return line

    def read1(self, size: int = -1) -> bytes:
        """A piece of the body."""
        self.beside = 0
        return super().read1(size)


class _Response(http.client.HTTPResponse):
    """The answer of a server. It has the whole head, which says how long the body is or that nothing says it."""

    fp: Any

    def __init__(self, sock: socket.socket, *args: Any, **named: Any) -> None:
        super().__init__(sock, *args, **named)
        self._socket = sock
        self.fp = _Reader(self.fp.detach())

    def begin(self, *args: Any, **named: Any) -> None:
        """Read the head."""
        self.fp.is_head = True
        super().begin(*args, **named)
        self.fp.is_head = False
        self._check_rest()
        self._check_frame()

    def _read_status(self) -> tuple[str, int, str]:
        """The line with the status of an answer. One that only informs is skipped."""
        while True:
            try:
                found: tuple[str, int, str] = super()._read_status()  # type: ignore[misc]
            except http.client.BadStatusLine as error:
                raise http.client.HTTPException("It does not begin with HTTP/ and a status.") from error
            if found[1] == http.client.SWITCHING_PROTOCOLS:
                raise http.client.HTTPException("The server switches to another protocol.")
            if found[1] >= 200:
                return found
            while self.fp.readline(MOST_BESIDE).strip():
                pass

    def _check_rest(self) -> None:
        """Refuse a head with a line that is no header, if something about the body stands below it."""
        rest = self.msg.get_payload()
        if not isinstance(rest, str) or OF_THE_BODY.search(rest):
            raise http.client.HTTPException("A line of its head is no header.")
        self.msg.defects.clear()  # else urllib3 logs them with the URL
        self.msg.set_payload("")

    def _check_frame(self) -> None:
        """Refuse a length or a coding that cannot be understood: nothing would say whether the body is whole."""
        codings, lengths = self._values("transfer-encoding") - {"identity", ""}, self._values("content-length")
        if codings and not (self.chunked and codings == {"chunked"}):
            raise http.client.HTTPException(f"The transfer-encoding {', '.join(sorted(codings))} is not supported.")
        if not self.chunked and not all(len(lengths) == 1 and re.fullmatch("[0-9]{1,18}", each) for each in lengths):
            raise http.client.HTTPException(f"The Content-Length {', '.join(sorted(lengths))} is not valid.")

    def _values(self, name: str) -> set[str]:
        return {each.strip().lower() for value in self.msg.get_all(name, []) for each in value.split(",")}

    def _close_conn(self) -> None:
        """The answer has ended."""
        if isinstance(self._socket, TimedSocket):
            self._socket.is_paused = True
            self._socket.has_more = bool(self.fp.peek(1))
            self._socket.is_paused = False
        super()._close_conn()  # type: ignore[misc]


class PlainConnection(HTTPConnection):
    """Connection to a checked address of its host."""

    response_class = _Response

    def _new_conn(self) -> socket.socket:
        """Connect to the first address that answers. Raises AddressRefused and OSError."""
        *others, last = _addresses(self.host, self.port)
        for address in others:
            with suppress(OSError):
                return _connected(address, self.port)
        return _connected(last, self.port)

    def __del__(self) -> None:
        self.close()


class TlsConnection(PlainConnection, HTTPSConnection):
    """The same with TLS. The name in the certificate is that of the host, or of what is behind a proxy."""


def _addresses(host: str, port: int) -> list[str]:
    call = CALL.get()
    try:
        if found := public_addresses(host, port, call.what, call.settings):
            return found
    except (socket.gaierror, UnicodeError) as error:
        raise OSError(f"The host {host} has no address: {error}") from error
    raise OSError(f"The host {host} has no address.")


def _connected(address: str, port: int) -> TimedSocket:
    call = CALL.get()
    sock = TimedSocket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.settimeout(call.deadline.cut(call.settings.connect_timeout))
        sock.connect((address, port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        sock.close()
        raise
    return sock


@cache
def ssl_context() -> ssl.SSLContext:
    """One context for all requests of this process: it takes some milliseconds to read the authorities."""
    context = ssl.create_default_context()
    context.sslsocket_class = TimedTlsSocket
    return context


@contextmanager
def as_failures() -> Iterator[None]:
    """Tell an error of a connection or a head as a failure of the request."""
    try:
        yield
    except TimeoutError as error:  # of a socket that is not connected yet
        CALL.get().deadline.cut(None)
        raise AttemptFailed(FailureKind.TIMEOUT, "No connection was made in time.") from error
    except OSError as error:
        if isinstance(error, ssl.SSLError) and not isinstance(error, BROKEN_OFF):
            raise AttemptFailed(FailureKind.TLS, f"TLS failed: {error}", retriable=False) from error
        raise AttemptFailed(FailureKind.CONNECTION, f"The connection failed: {error}") from error
    except (http.client.HTTPException, HTTPError) as error:
        raise AttemptFailed(FailureKind.PROTOCOL, f"The answer cannot be read: {error}") from error
