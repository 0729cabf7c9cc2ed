"""HTTP client of jobs: httpx with connections to checked addresses only, an end in time, and checked redirects.

httpcore asks a network backend for each connection. This one resolves the host, has its addresses checked and connects
to one of them. httpcore takes the `Host` header and the TLS server name from the URL, so both keep the name.

Each thread keeps some connections for its next requests to the same hosts. Their addresses were checked when they were
made. A connection to a proxy is not kept: it would be shared by hosts that do not know each other.
"""

from __future__ import annotations

import base64
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any, TypeVar

try:
    import httpcore
    import httpx as httpx  # re-exported: what imports it from here tells of a missing extra
except ModuleNotFoundError as error:  # pragma: no cover - the tests have the extra
    raise ModuleNotFoundError(f"{error}. Jobs need more packages: pip install 'queueops[jobs]'") from error

from queueops import conf
from queueops.kinds.jobs.net_guard import Target, check_url, public_addresses
from queueops.kinds.jobs.settings import JobSettings

Value = TypeVar("Value")

REDIRECTS = frozenset({301, 302, 303, 307, 308})
KEEPING = frozenset({307, 308})
"""Redirects after which the same method and body are sent again."""
CLIENT_HEADERS = {"accept": "*/*", "user-agent": "QueueOps"}
KEPT, KEPT_FOR = 2, 15.0
"""Connections that a thread keeps, and for how many seconds: then the host is resolved again."""
ONE_PACKET = 16_384
"""Bytes of a request that are sent at once."""
OF_A_REQUEST = (b"host", b"content-length", b"transfer-encoding")
"""Headers that httpx makes for each request."""


class OutOfTime(httpx.TimeoutException):
    """The request took longer than its time in all."""


class TooManyRedirects(httpx.TooManyRedirects):
    """The answers led to more redirects than the setting allows."""


class Deadline:
    """The end of a request in time, for all of its connections."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def cut(self, timeout: float | None) -> float:
        """The shorter of a timeout and the rest of the time. Raises OutOfTime when none is left."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise OutOfTime(f"It took longer than {self.seconds:g} s.")
        return left if timeout is None else min(timeout, left)


@contextmanager
def answer_to(
    method: str,
    target: Target,
    *,
    what: str,
    headers: Mapping[str, str],
    settings: JobSettings,
    deadline: Deadline,
    content: bytes | None = None,
    proxy: str = "",
    redirects: frozenset[int] = REDIRECTS,
) -> Iterator[httpx.Response]:
    """Send a request and give its answer, whose body is not read yet.

    Redirects of the codes in `redirects` are followed, each checked as the first URL was. Raises AddressRefused,
    `httpx.HTTPError` and `httpx.InvalidURL`.
    """
    with _this_call(_Call("proxy" if proxy else what, settings, deadline)), _transport(settings, proxy) as transport:
        hops = _Hops(transport, what, settings, redirects, checks_host=bool(proxy))
        response = hops.followed(_first_request(method, target, headers, content, settings), target)
        try:
            yield response
        finally:
            response.close()


@dataclass(slots=True)
class _Call:
    """What the connections of a request must know. They are made and used in its thread alone."""

    what: str
    settings: JobSettings
    deadline: Deadline
    has_connected: bool = False


class _OfThread(threading.local):
    """What a thread has: its call, and its kept connections."""

    call: _Call
    kept: _Kept | None = None


_of_thread = _OfThread()


@contextmanager
def _this_call(call: _Call) -> Iterator[None]:
    """Make this the call of the thread. A request within another one follows the same rules."""
    before = getattr(_of_thread, "call", call)
    _of_thread.call = call
    try:
        yield
    finally:
        _of_thread.call = before


class _Kept:
    """The kept connections of a thread, for these settings. They are closed with the thread."""

    def __init__(self, settings: JobSettings) -> None:
        self.settings = settings
        self.transport = _Transport(
            httpcore.ConnectionPool(
                ssl_context=_ssl_context(),
                network_backend=_Backend(),
                max_connections=None,
                max_keepalive_connections=KEPT,
                keepalive_expiry=KEPT_FOR,
            )
        )

    def __del__(self) -> None:
        self.transport.close()


@contextmanager
def _transport(settings: JobSettings, proxy: str) -> Iterator[_Transport]:
    """The way of a request: by the kept connections of this thread, or by a proxy."""
    if proxy:
        with _Transport(_proxy_pool(settings, proxy)) as transport:
            yield transport
        return
    kept = _of_thread.kept
    if kept is None or kept.settings is not settings:  # other settings may allow other addresses
        kept = _of_thread.kept = _Kept(settings)
    yield kept.transport


def _first_request(
    method: str, target: Target, headers: Mapping[str, str], content: bytes | None, settings: JobSettings
) -> httpx.Request:
    timeout = httpx.Timeout(settings.read_timeout, connect=settings.connect_timeout)
    sent = httpx.Headers(CLIENT_HEADERS)
    sent.update(headers)
    url = httpx.URL(target.url)
    if url.userinfo and "authorization" not in sent:
        sent["authorization"] = _basic(url.username, url.password)
    return httpx.Request(method, url, headers=sent, content=content, extensions={"timeout": timeout.as_dict()})


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@dataclass(frozen=True, slots=True)
class _Hops:
    """The way from a request to the first answer that is no redirect.

    It asks the transport, and not a client of httpx: that writes each URL to the log, with the tokens in it.
    """

    transport: httpx.BaseTransport
    what: str
    settings: JobSettings
    redirects: frozenset[int]
    _: KW_ONLY
    checks_host: bool  # a proxy makes the connections, and may resolve a host in another way

    def followed(self, request: httpx.Request, target: Target) -> httpx.Response:
        for _ in range(self.settings.max_redirects + 1):
            if self.checks_host:
                self._check_host(target)
            response = self.transport.handle_request(request)
            response.request = request
            if response.status_code not in self.redirects or "Location" not in response.headers:
                return response
            response.close()
            target = self._next_target(request, response)
            request = _next_request(request, response, target)
        raise TooManyRedirects(f"There were more than {self.settings.max_redirects} redirects.")

    def _next_target(self, request: httpx.Request, response: httpx.Response) -> Target:
        place = response.headers["Location"]
        try:
            url = str(request.url.copy_with(username=None, password=None).join(place))
        except httpx.InvalidURL:
            url = place  # the check says what is wrong with it
        return check_url(url, self.what, self.settings)

    def _check_host(self, target: Target) -> None:
        try:
            public_addresses(target.host, target.port, self.what, self.settings)
        except OSError as error:
            raise httpx.ConnectError(f"The host {target.host} has no address: {error}") from error


def _next_request(request: httpx.Request, response: httpx.Response, target: Target) -> httpx.Request:
    """The request after a redirect. Only the codes of KEEPING keep the method and the body."""
    url = httpx.URL(target.url)
    headers = httpx.Headers([(name, value) for name, value in request.headers.raw if name.lower() not in OF_A_REQUEST])
    if (url.scheme, url.host, url.port) != (request.url.scheme, request.url.host, request.url.port):
        _drop_secrets(headers)
    if url.userinfo:
        headers["authorization"] = _basic(url.username, url.password)
    keeps = response.status_code in KEEPING
    method = request.method if keeps or request.method == "HEAD" else "GET"
    content = request.content if keeps and request.content else None
    return httpx.Request(method, url, headers=headers, content=content, extensions=request.extensions)


def _drop_secrets(headers: httpx.Headers) -> None:
    """Another host gets no header whose name says that it holds a secret."""
    redactor = conf.redactor()
    for name in [name for name in headers if redactor.hides(name)]:
        del headers[name]


def _proxy_pool(settings: JobSettings, proxy: str) -> httpcore.ConnectionPool:
    target = check_url(proxy, "proxy", settings)
    parts = httpx.URL(target.url)
    return httpcore.HTTPProxy(
        proxy_url=httpcore.URL(scheme=parts.raw_scheme, host=parts.raw_host, port=target.port, target=b"/"),
        proxy_auth=(parts.username, parts.password) if parts.userinfo else None,
        ssl_context=_ssl_context(),
        network_backend=_Backend(),
        max_connections=1,
    )


@cache
def _ssl_context() -> ssl.SSLContext:
    """One context for all requests of this process: it takes some milliseconds to read the authorities."""
    return httpx.create_ssl_context()


class _Backend(httpcore.NetworkBackend):
    """Network backend: connects to addresses that were checked, as the call of the thread says."""

    def __init__(self) -> None:
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        call = _of_thread.call
        call.has_connected = True
        try:
            addresses = public_addresses(host.strip("[]"), port, call.what, call.settings)
        except (socket.gaierror, UnicodeError) as error:
            raise httpcore.ConnectError(f"The host {host} has no address: {error}") from error
        failure: Exception = httpcore.ConnectError(f"The host {host} has no address.")
        for address in addresses:
            try:
                stream = self._inner.connect_tcp(
                    address, port, call.deadline.cut(timeout), local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return _Stream(stream)
        raise failure


class _Stream(httpcore.NetworkStream):
    """Network stream that ends at the deadline of a call, also if the server sends a byte at a time."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner
        self._unsent = b""  # headers wait for a short body: both are one packet

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._flush(timeout)
        cut = _of_thread.call.deadline.cut(timeout)
        return self._timed(lambda: self._inner.read(max_bytes, cut))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._unsent += buffer
        if len(self._unsent) > ONE_PACKET:
            self._flush(timeout)

    def _flush(self, timeout: float | None) -> None:
        unsent, self._unsent = self._unsent, b""
        if unsent:
            cut = _of_thread.call.deadline.cut(timeout)
            self._timed(lambda: self._inner.write(unsent, cut))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        cut = _of_thread.call.deadline.cut(timeout)
        return _Stream(self._timed(lambda: self._inner.start_tls(ssl_context, server_hostname, cut)))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    def _timed(self, call: Callable[[], Value]) -> Value:
        """Do a call of the stream. A timeout at the deadline is named as such."""
        try:
            return call()
        except httpcore.TimeoutException:
            _of_thread.call.deadline.cut(None)
            raise


class _Transport(httpx.BaseTransport):
    """httpx transport over a pool of httpcore that has its own network backend."""

    def __init__(self, pool: httpcore.ConnectionPool) -> None:
        self._pool = pool

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        sent = httpcore.Request(
            request.method,
            httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _as_errors_of_httpx():
            found = self._answer(sent)
        return httpx.Response(found.status, headers=found.headers, stream=_Body(found), extensions=found.extensions)

    def _answer(self, sent: httpcore.Request) -> httpcore.Response:
        """Send a request. If the server closes a kept connection at the same moment, it goes by another one."""
        call = _of_thread.call
        call.has_connected = False
        while True:
            try:
                return self._pool.handle_request(sent)
            except (httpcore.RemoteProtocolError, httpcore.ReadError, httpcore.WriteError):
                if call.has_connected:
                    raise

    def close(self) -> None:
        self._pool.close()


class _Body(httpx.SyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        with _as_errors_of_httpx():
            yield from self._response.iter_stream()

    def close(self) -> None:
        self._response.close()


@contextmanager
def _as_errors_of_httpx() -> Iterator[None]:
    """The errors of httpcore have names that httpx has, too."""
    try:
        yield
    except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, httpcore.ProxyError,
            httpcore.UnsupportedProtocol) as error:  # fmt: skip
        raise getattr(httpx, type(error).__name__, httpx.TransportError)(str(error)) from error
