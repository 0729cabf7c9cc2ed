"""HTTP proxy: requests of jobs by a proxy, with httpcore. The connection to the proxy is to a checked address.

httpcore asks a network backend for each connection. This one connects to addresses that were checked, and its streams
end at the deadline of the call. A connection to a proxy is not kept: it would be shared by hosts that do not know each
other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

try:
    import httpcore
except ModuleNotFoundError as error:  # pragma: no cover - the tests have the extra
    raise ModuleNotFoundError(f"{error}. Jobs need more packages: pip install 'queueops[jobs]'") from error

from queueops.kinds.jobs.http_call import Answer, Call, Request, addresses_of, httpx, joined, ssl_context
from queueops.kinds.jobs.net_guard import SCHEMES, check_url

Value = TypeVar("Value")


class Proxy:
    """The way of the requests of one call by a proxy. `call` is that of the proxy."""

    def __init__(self, url: str, call: Call) -> None:
        self._settings = call.settings
        target = check_url(url, "proxy", call.settings)
        parts = httpx.URL(target.url)
        self._pool = httpcore.HTTPProxy(
            proxy_url=httpcore.URL(scheme=parts.raw_scheme, host=parts.raw_host, port=target.port, target=b"/"),
            proxy_auth=(parts.username, parts.password) if parts.userinfo else None,
            ssl_context=ssl_context(),
            network_backend=_Backend(call),
            max_connections=1,
        )

    def send(self, request: Request) -> Answer:
        """Send a request, and read the head of its answer. Raises `httpx.TransportError`."""
        target, timeout = request.target, self._settings.read_timeout
        port = None if target.port == SCHEMES[target.scheme] else target.port
        sent = httpcore.Request(
            request.method,
            httpcore.URL(scheme=target.scheme, host=target.host, port=port, target=request.path),
            headers=list(request.sent_headers().items()),
            content=request.content,
            extensions={"timeout": httpx.Timeout(timeout, connect=self._settings.connect_timeout).as_dict()},
        )
        with _as_errors_of_httpx():
            return _ProxiedAnswer(self._pool.handle_request(sent))

    def close(self) -> None:
        """Close its connection."""
        self._pool.close()


class _ProxiedAnswer(Answer):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response
        self.status_code, self.headers = response.status, joined(response.headers)

    def iter_raw(self) -> Iterator[bytes]:
        """The body in pieces, as it was sent."""
        with _as_errors_of_httpx():
            yield from self._response.iter_stream()

    def close(self) -> None:
        """Give the connection up."""
        self._response.close()


class _Backend(httpcore.NetworkBackend):
    """Network backend: connects to addresses that were checked, as the call says."""

    def __init__(self, call: Call) -> None:
        self._call, self._inner = call, httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        def connected(address: str) -> httpcore.NetworkStream:
            cut = self._call.deadline.cut(timeout)
            return _Stream(self._inner.connect_tcp(address, port, cut, local_address, socket_options), self._call)

        *others, last = addresses_of(host.strip("[]"), port, self._call)
        for address in others:
            with suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                return connected(address)
        return connected(last)


class _Stream(httpcore.NetworkStream):
    """Network stream that ends at the deadline of a call, also if the server sends a byte at a time."""

    def __init__(self, inner: httpcore.NetworkStream, call: Call) -> None:
        self._inner, self._call = inner, call

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        cut = self._call.deadline.cut(timeout)
        return self._timed(lambda: self._inner.read(max_bytes, cut))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        cut = self._call.deadline.cut(timeout)
        self._timed(lambda: self._inner.write(buffer, cut))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        cut = self._call.deadline.cut(timeout)
        return _Stream(self._timed(lambda: self._inner.start_tls(ssl_context, server_hostname, cut)), self._call)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    def _timed(self, call: Callable[[], Value]) -> Value:
        """Do a call of the stream. A timeout at the deadline is named as such."""
        try:
            return call()
        except httpcore.TimeoutException:
            self._call.deadline.cut(None)
            raise


@contextmanager
def _as_errors_of_httpx() -> Iterator[None]:
    """The errors of httpcore have names that httpx has, too."""
    try:
        yield
    except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, httpcore.ProxyError,
            httpcore.UnsupportedProtocol) as error:  # fmt: skip
        raise getattr(httpx, type(error).__name__, httpx.TransportError)(str(error)) from error
