"""HTTP/1.1 exchange: sends a request by a connection of its own, and reads the answer as it comes.

The answer is parsed by llhttp, the parser of Node.js (package httptools). What llhttp does not limit is limited here.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import struct
from collections.abc import Callable, Iterator

try:
    import httptools
except ModuleNotFoundError as error:  # pragma: no cover - the tests have the extra
    raise ModuleNotFoundError(f"{error}. Jobs need more packages: pip install 'queueops[jobs]'") from error

from queueops.kinds.jobs.http_call import Answer, Call, Request, addresses_of, httpx, joined, ssl_context

PIECE = 65_536
"""Most bytes that are received at once."""
MOST_BESIDE = 100 * 1024
"""Most bytes in a row that are no body: the head of an answer, what stands between chunks, and what follows them."""
ONE_PACKET = 16_384
"""A body of at most so many bytes is sent together with its head."""
INFORMATIONAL = range(100, 200)
SWITCHING = 101


class Connection:
    """A connection to a checked address.

    A plain one has its timeouts in the kernel: each call is one system call then. Python itself would make two, and
    give up the interpreter lock for each. `has_answered`: some of the answer to the last request came.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.has_answered = False
        self._is_plain = not isinstance(sock, ssl.SSLSocket)
        self._seconds = -1.0
        if self._is_plain:
            sock.settimeout(None)

    def send(self, data: bytes, call: Call) -> None:
        """Send all of it. Raises OutOfTime, WriteTimeout and WriteError."""
        left = memoryview(data)
        try:
            while left:
                self._limit(call)
                left = left[self._sock.send(left) :]
        except (TimeoutError, BlockingIOError) as error:
            call.deadline.cut(None)
            raise httpx.WriteTimeout("The request could not be sent in time.") from error
        except OSError as error:
            raise httpx.WriteError(str(error)) from error

    def receive(self, call: Call) -> bytes:
        """The next bytes; none if the server has ended. Raises OutOfTime, ReadTimeout and ReadError."""
        try:
            self._limit(call)
            data = self._sock.recv(PIECE)
        except (TimeoutError, BlockingIOError) as error:
            call.deadline.cut(None)
            raise httpx.ReadTimeout("Nothing came in time.") from error
        except OSError as error:
            raise httpx.ReadError(str(error)) from error
        self.has_answered = self.has_answered or bool(data)
        return data

    def is_readable(self) -> bool:
        """Whether there is something to read: for a connection without a request, that the server has ended it."""
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        return bool(poll.poll(0))

    def close(self) -> None:
        """Close it."""
        self._sock.close()

    def _limit(self, call: Call) -> None:
        seconds = call.deadline.cut(call.settings.read_timeout)
        if seconds == self._seconds:
            return
        self._seconds = seconds
        if self._is_plain:
            whole = int(seconds)
            limit = struct.pack("@ll", whole, int((seconds - whole) * 1_000_000) + 1)  # 0 would be no limit
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        else:
            self._sock.settimeout(seconds)


def connect(request: Request, call: Call) -> Connection:
    """Connect to the first checked address that answers. Raises AddressRefused and `httpx.TransportError`."""
    *others, last = addresses_of(request.target.host, request.target.port, call)
    for address in others:
        with contextlib.suppress(httpx.ConnectError, httpx.ConnectTimeout):
            return _connected(address, request, call)
    return _connected(last, request, call)


def _connected(address: str, request: Request, call: Call) -> Connection:
    timeout = call.settings.connect_timeout
    sock: socket.socket | None = None
    try:
        sock = socket.create_connection((address, request.target.port), call.deadline.cut(timeout))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if request.target.scheme == "https":
            sock.settimeout(call.deadline.cut(timeout))
            sock = ssl_context().wrap_socket(sock, server_hostname=request.target.host)
        return Connection(sock)
    except BaseException as error:
        if sock is not None:
            sock.close()
        if isinstance(error, TimeoutError):
            call.deadline.cut(None)
            raise httpx.ConnectTimeout(str(error)) from error
        if isinstance(error, OSError):
            raise httpx.ConnectError(str(error)) from error
        raise


def exchange(connection: Connection, request: Request, call: Call, keep: Callable[[Connection], None]) -> Answer:
    """Send a request, and read the head of its answer. Raises `httpx.TransportError`; the connection is closed then.

    ``keep`` gets the connection when the answer is closed, if another request can follow.
    """
    connection.has_answered = False
    try:
        head, content = _written(request), request.content or b""
        if len(head) + len(content) > ONE_PACKET:
            connection.send(head, call)
            connection.send(content, call)
        else:
            connection.send(head + content, call)
        answer = _ParsedAnswer(connection, call, keep)
        answer.read_head()
    except BaseException:
        connection.close()
        raise
    return answer


def _written(request: Request) -> bytes:
    lines = [f"{name}: {value}\r\n" for name, value in request.sent_headers().items()]
    return f"{request.method} {request.path} HTTP/1.1\r\n{''.join(lines)}\r\n".encode("latin-1")


class _ParsedAnswer(Answer):
    """The answer by a connection. The methods `on_...` are called by llhttp while it reads."""

    def __init__(self, connection: Connection, call: Call, keep: Callable[[Connection], None]) -> None:
        self._connection: Connection | None = connection
        self._call, self._keep = call, keep
        self._raw: list[tuple[bytes, bytes]] = []
        self._pieces: list[bytes] = []
        self._beside = 0
        self._has_head = self._is_whole = self._informs = self._is_reusable = False
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(  # of servers that are not quite right, where it does no harm to a client
            lenient_chunked_length=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )

    def read_head(self) -> None:
        """Read until the headers are there. Raises `httpx.TransportError`."""
        while not self._has_head:
            self._feed()
        self.headers = joined(self._raw)
        coding = self.headers.get("transfer-encoding", "chunked").lower()
        if coding != "chunked" or self.status_code < INFORMATIONAL.stop:
            told = f"transfer-encoding {coding}" if coding != "chunked" else f"status {self.status_code}"
            raise httpx.RemoteProtocolError(f"The answer has the {told}, which is not supported.")

    def iter_raw(self) -> Iterator[bytes]:
        """The body in pieces, as it was sent."""
        while True:
            if self._pieces:
                pieces, self._pieces = self._pieces, []
                yield b"".join(pieces)
            elif self._is_whole:
                return
            else:
                self._feed()

    def close(self) -> None:
        """Give the connection up, or let it be kept."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        del self._parser  # it refers to this object
        if self._is_reusable:
            self._keep(connection)
        else:
            connection.close()

    def _feed(self) -> None:
        """Receive once, and read it."""
        if self._connection is None:
            raise httpx.StreamClosed()
        data = self._connection.receive(self._call)
        if not data:
            return self._end()
        self._beside += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            raise httpx.RemoteProtocolError("The server switches to another protocol.") from None
        except httptools.HttpParserError as error:
            if not self._is_whole:
                raise httpx.RemoteProtocolError(str(error)) from error
            self._is_reusable = False  # something follows the answer that is none
        if self._beside > MOST_BESIDE and not self._is_whole:
            raise httpx.RemoteProtocolError(f"More than {MOST_BESIDE:,} bytes came without a body.")

    def _end(self) -> None:
        """The server has ended the connection: that is the end of a body without a length."""
        if not self._has_head:
            raise httpx.RemoteProtocolError("The server has hung up without an answer.")
        if "content-length" in self.headers or "transfer-encoding" in self.headers:
            raise httpx.RemoteProtocolError("The server has hung up.")
        self._is_whole = True

    # Called by llhttp

    def on_message_begin(self) -> None:
        """A message begins. After the whole answer none may come."""
        self._is_reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or one that follows a body in chunks."""
        if not self._has_head:
            self._raw.append((name, value))

    def on_headers_complete(self) -> None:
        """The end of a head. One that only informs is skipped."""
        if self._has_head:
            return
        self.status_code = self._parser.get_status_code()
        self._informs = self.status_code in INFORMATIONAL and self.status_code != SWITCHING
        if self._informs:
            self._raw.clear()
        else:
            self._has_head = True

    def on_body(self, piece: bytes) -> None:
        """A piece of the body."""
        if not self._is_whole:
            self._pieces.append(piece)
            self._beside = 0

    def on_message_complete(self) -> None:
        """The end of a message."""
        if self._informs:
            self._informs = False
        elif not self._is_whole:
            self._is_whole, self._is_reusable = True, self._parser.should_keep_alive()
