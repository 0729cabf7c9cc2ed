"""HTTP exchange: a request goes by a connection to the host of its URL or to a proxy, and gets its answer.

Each thread keeps some connections for its next requests to the same hosts. Their addresses were checked when they were
made. A connection to a proxy is not kept: it would be shared by hosts that do not know each other.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from urllib3 import HTTPResponse
from urllib3.connection import ProxyConfig
from urllib3.exceptions import HTTPError
from urllib3.util import Url, parse_url

from queueops.kinds.jobs.http.http_connection import PlainConnection, TlsConnection, as_failures, ssl_context
from queueops.kinds.jobs.http.http_failures import AttemptFailed, FailureKind
from queueops.kinds.jobs.http.net_guard import Target
from queueops.kinds.jobs.settings import JobSettings

KEPT, KEPT_FOR = 2, 15.0
"""Connections that a thread keeps, and for how many seconds: then the host is resolved again."""
PIECE = 65_536
"""Most bytes of a body that are received at once."""
Origin = tuple[str, str, int]
"""Scheme, host and port."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request. The names of its headers are in small letters."""

    method: str
    target: Target
    headers: Mapping[str, str]
    content: bytes | None = None

    @property
    def origin(self) -> Origin:
        """Which server gets it."""
        return self.target.scheme, self.target.host, self.target.port

    @property
    def path(self) -> str:
        """The path and the query, as they are sent."""
        path, mark, query = self.target.path.partition("?")
        if "/." in path:
            path = parse_url(f"http://host{path}").path or "/"
        return path + mark + query

    def sent_headers(self) -> dict[str, str]:
        """All headers of the request. Raises AttemptFailed for one that would be more than a line."""
        sent = {"host": self.target.authority, **self.headers}
        if any(mark in "".join((*sent, *sent.values())) for mark in "\r\n\0"):
            reason = "The request cannot be sent: A header has a line break."
            raise AttemptFailed(FailureKind.PROTOCOL, reason, retriable=False)
        return sent


class Answer:
    """The answer to a request, whose body is read as it comes. The names of its headers are in small letters."""

    def __init__(self, response: HTTPResponse, target: Target, close: Callable[[bool], None]) -> None:
        self.target = target  # the URL that gave it: that of the last redirect
        self.status_code = response.status
        self.headers = {name.lower(): _text(response.headers[name]) for name in response.headers}  # joined by commas
        self._response, self._close = response, close
        self._is_whole = response.length_remaining == 0

    @property
    def is_success(self) -> bool:
        """Whether the status is from 200 to 299."""
        return 200 <= self.status_code <= 299

    def iter_raw(self) -> Iterator[bytes]:
        """The body in pieces, as it was sent. Raises AttemptFailed."""
        size = 0
        while (left := self._response.length_remaining) != 0:
            most = PIECE if left is None else min(left, PIECE)
            try:
                piece = self._response.read1(most, decode_content=False)
            except HTTPError as error:
                reason = f"The body ended after {size:,} bytes, before it was complete: {_shown(error)}"
                raise AttemptFailed(FailureKind.BODY, reason) from error
            if not piece:
                break
            size += len(piece)
            yield piece
        self._is_whole = True

    def read(self) -> bytes:
        """The whole body. Raises AttemptFailed."""
        return b"".join(self.iter_raw())

    def close(self) -> None:
        """Give the connection up. It is kept if the whole body was read and the server keeps it, too."""
        self._response.close()
        self._close(self._is_whole)


def send_direct(settings: JobSettings, request: Request) -> Answer:
    """Send a request. If the server ends a kept connection at the same moment, it goes by another one."""
    if _of_thread.settings is not settings:  # other settings may allow other addresses
        _of_thread.settings, _of_thread.kept = settings, []
    while (connection := _take(request.origin)) is not None:
        sock: Any = connection.sock
        sock.has_answered = False
        try:
            return _exchange(connection, request, request.path, keeps=True)
        except AttemptFailed as failed:
            if sock.has_answered or failed.failure.kind is FailureKind.TIMEOUT:
                raise  # the server has the request: it is not sent twice
    target = request.target
    return _exchange(_made(target.scheme == "https", target), request, request.path, keeps=True)


def send_by_proxy(proxy: Target, authorization: str, request: Request) -> Answer:
    """Send a request by a proxy: through a tunnel if it is for TLS."""
    target, has_tunnel = request.target, request.target.scheme == "https"
    headers = {"proxy-authorization": authorization} if authorization else {}
    url = Url(scheme=proxy.scheme, host=proxy.host, port=proxy.port)
    made = _made(has_tunnel or proxy.scheme == "https", proxy, url)
    if has_tunnel:
        made.set_tunnel(target.host, target.port, headers, proxy.scheme)
        return _exchange(made, request, request.path)
    return _exchange(made, request, f"{target.scheme}://{target.authority}{request.path}", headers)


def _made(is_tls: bool, to: Target, proxy: Url | None = None) -> PlainConnection:
    """A connection that is not open yet."""
    if not is_tls:
        return PlainConnection(to.host, to.port, proxy=proxy)
    context = ssl_context()
    config = ProxyConfig(context, False, None, None)
    return TlsConnection(to.host, to.port, proxy=proxy, proxy_config=config, ssl_context=context)


def _exchange(
    connection: PlainConnection,
    request: Request,
    path: str,
    more: Mapping[str, str] = {},
    *,
    keeps: bool = False,
) -> Answer:
    """Send a request, and read the head of its answer. Raises AttemptFailed; the connection is closed then."""

    def close(is_whole: bool) -> None:
        sock: Any = connection.sock  # None if the server ends it
        if keeps and is_whole and sock is not None and not sock.has_more:
            _keep(request.origin, connection)
        else:
            connection.close()

    headers = request.sent_headers() | dict(more)
    try:
        with as_failures():
            if connection.sock is None:
                connection.connect()
            with suppress(BrokenPipeError, ConnectionResetError):  # it may have answered before
                connection.request(
                    request.method, path, request.content, headers, preload_content=False, decode_content=False
                )
            response = connection.getresponse()
        return Answer(response, request.target, close)
    except BaseException:
        connection.close()
        raise


class _OfThread(threading.local):
    """The connections that a thread keeps, for these settings, each with the time of its last use."""

    def __init__(self) -> None:
        self.settings: JobSettings | None = None
        self.kept: list[tuple[Origin, float, PlainConnection]] = []


_of_thread = _OfThread()


def _keep(origin: Origin, connection: PlainConnection) -> None:
    _of_thread.kept = [*_of_thread.kept, (origin, time.monotonic(), connection)][-KEPT:]


def _take(origin: Origin) -> PlainConnection | None:
    """A kept connection that seems to work; None if there is none. Those that do not are closed."""
    oldest = time.monotonic() - KEPT_FOR
    kept = [each for each in _of_thread.kept if each[1] > oldest and each[2].is_connected]
    found = next((each for each in kept if each[0] == origin), None)
    _of_thread.kept = [each for each in kept if each is not found]
    return found[2] if found else None


def _shown(error: HTTPError) -> str:
    """What urllib3 has met when it read a body."""
    cause = error.__cause__
    if isinstance(cause, http.client.IncompleteRead):
        return "The server has hung up, or its chunks are wrong."
    return str(cause or error)


def _text(value: str) -> str:
    """The value of a header, which is UTF-8 if it can be."""
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value
