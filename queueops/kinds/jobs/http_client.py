"""HTTP client of jobs: connections to checked addresses only, an end in time, and checked redirects.

A direct request goes by a connection of its thread (`http_exchange`), and one by a proxy with httpcore (`http_proxy`).
Both resolve a host, have its addresses checked and connect to one of them. The `Host` header and the TLS server name
are those of the URL.

Each thread keeps some connections for its next requests to the same hosts. Their addresses were checked when they were
made.
"""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from urllib.parse import unquote

from queueops.kinds.jobs.header_rules import is_credential
from queueops.kinds.jobs.http_call import Answer, Call, Deadline, OutOfTime, Request, httpx
from queueops.kinds.jobs.http_exchange import Connection, connect, exchange
from queueops.kinds.jobs.http_proxy import Proxy
from queueops.kinds.jobs.net_guard import Target, check_url, public_addresses
from queueops.kinds.jobs.settings import JobSettings

__all__ = ["KEEPING", "REDIRECTS", "Answer", "Deadline", "OutOfTime", "TooManyRedirects", "answer_to", "httpx"]

REDIRECTS = frozenset({301, 302, 303, 307, 308})
KEEPING = frozenset({307, 308})
"""Redirects after which the same method and body are sent again."""
CLIENT_HEADERS = {"accept": "*/*", "user-agent": "QueueOps"}
KEPT, KEPT_FOR = 2, 15.0
"""Connections that a thread keeps, and for how many seconds: then the host is resolved again."""
FRESH = 1.0
"""Seconds for which a kept connection is used without a look whether the server has ended it."""
Origin = tuple[str, str, int]
"""Scheme, host and port."""


class TooManyRedirects(httpx.TooManyRedirects):
    """The answers led to more redirects than the setting allows."""


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
) -> Iterator[Answer]:
    """Send a request and give its answer, whose body is not read yet.

    Redirects of the codes in `redirects` are followed, each checked as the first URL was. Raises AddressRefused,
    `httpx.HTTPError` and `httpx.InvalidURL`.
    """
    call = Call("proxy" if proxy else what, settings, deadline)
    by = Proxy(proxy, call) if proxy else None
    try:
        send = by.send if by else _direct(call)
        hops = _Hops(send, what, settings, redirects, checks_host=bool(proxy))
        answer = hops.followed(_first_request(method, target, headers, content))
        try:
            yield answer
        finally:
            answer.close()
    finally:
        if by:
            by.close()


class _Kept:
    """The kept connections of a thread, for these settings. They are closed with the thread."""

    def __init__(self, settings: JobSettings) -> None:
        self.settings = settings
        self._connections: list[tuple[Origin, float, Connection]] = []  # each with the time of its last use

    def send(self, request: Request, call: Call) -> Answer:
        """Send a request. If the server ends a kept connection at the same moment, it goes by another one."""
        origin = _origin(request)

        def keep(connection: Connection) -> None:
            self._connections.append((origin, time.monotonic(), connection))
            self._close_old(KEPT)

        while (connection := self._take(origin)) is not None:
            try:
                return exchange(connection, request, call, keep)
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                if connection.has_answered:
                    raise  # the server has the request: it is not sent twice
        self._close_old(KEPT)
        return exchange(connect(request, call), request, call, keep)

    def _take(self, origin: Origin) -> Connection | None:
        """A kept connection that seems to work; None if there is none."""
        for place, (known, used, connection) in enumerate(self._connections):
            if known == origin:
                del self._connections[place]
                age = time.monotonic() - used
                if age < FRESH or (age < KEPT_FOR and not connection.is_readable()):
                    return connection
                connection.close()
                return self._take(origin)
        return None

    def _close_old(self, most: int) -> None:
        """Close all but the last ones, and those that were kept for too long."""
        oldest = time.monotonic() - KEPT_FOR
        while self._connections and (len(self._connections) > most or self._connections[0][1] < oldest):
            self._connections.pop(0)[2].close()

    def __del__(self) -> None:
        self._close_old(0)


class _OfThread(threading.local):
    """What a thread has: its kept connections."""

    kept: _Kept | None = None


_of_thread = _OfThread()


def _direct(call: Call) -> Callable[[Request], Answer]:
    """The way of a request by the connections of this thread."""
    kept = _of_thread.kept
    if kept is None or kept.settings is not call.settings:  # other settings may allow other addresses
        kept = _of_thread.kept = _Kept(call.settings)
    return lambda request: kept.send(request, call)


def _first_request(method: str, target: Target, headers: Mapping[str, str], content: bytes | None) -> Request:
    sent = CLIENT_HEADERS | {name.lower(): value for name, value in headers.items()}
    if target.user and "authorization" not in sent:
        sent["authorization"] = _basic(target.user)
    return Request(method, target, sent, content)


def _basic(user: str) -> str:
    name, _, password = user.partition(":")
    return "Basic " + base64.b64encode(f"{unquote(name)}:{unquote(password)}".encode()).decode()


@dataclass(frozen=True, slots=True)
class _Hops:
    """The way from a request to the first answer that is no redirect."""

    send: Callable[[Request], Answer]
    what: str
    settings: JobSettings
    redirects: frozenset[int]
    _: KW_ONLY
    checks_host: bool  # a proxy makes the connections, and may resolve a host in another way

    def followed(self, request: Request) -> Answer:
        for _ in range(self.settings.max_redirects + 1):
            if self.checks_host:
                self._check_host(request.target)
            answer = self.send(request)
            if answer.status_code not in self.redirects or "location" not in answer.headers:
                return answer
            answer.close()
            request = _next_request(request, answer, self._next_target(request, answer))
        raise TooManyRedirects(f"There were more than {self.settings.max_redirects} redirects.")

    def _next_target(self, request: Request, answer: Answer) -> Target:
        place = answer.headers["location"]
        try:
            url = str(httpx.URL(request.target.url).copy_with(username=None, password=None).join(place))
        except httpx.InvalidURL:
            url = place  # the check says what is wrong with it
        return check_url(url, self.what, self.settings)

    def _check_host(self, target: Target) -> None:
        try:
            public_addresses(target.host, target.port, self.what, self.settings)
        except OSError as error:
            raise httpx.ConnectError(f"The host {target.host} has no address: {error}") from error


def _origin(request: Request) -> Origin:
    target = request.target
    return target.scheme, target.host, target.port


def _next_request(request: Request, answer: Answer, target: Target) -> Request:
    """The request after a redirect. Only the codes of KEEPING keep the method and the body."""
    keeps = answer.status_code in KEEPING
    method = request.method if keeps or request.method == "HEAD" else "GET"
    following = Request(method, target, dict(request.headers), request.content if keeps else None)
    headers = dict(request.headers)
    if _origin(following) != _origin(request):
        headers = _without_secrets(headers)
    if target.user:
        headers["authorization"] = _basic(target.user)
    return Request(method, target, headers, following.content)


def _without_secrets(headers: Mapping[str, str]) -> dict[str, str]:
    """Another origin gets no credentials."""
    return {name: value for name, value in headers.items() if not is_credential(name)}
