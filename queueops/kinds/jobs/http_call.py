"""HTTP call: what the connections of a request must know, what it sends, and what its answer is.

The errors have the names of httpx, by direct connections and by proxies.
"""

from __future__ import annotations

import socket
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

try:
    import httpx as httpx  # re-exported: what imports it from here tells of a missing extra
except ModuleNotFoundError as error:  # pragma: no cover - the tests have the extra
    raise ModuleNotFoundError(f"{error}. Jobs need more packages: pip install 'queueops[jobs]'") from error

from queueops.kinds.jobs.net_guard import Target, public_addresses
from queueops.kinds.jobs.settings import JobSettings


class OutOfTime(httpx.TimeoutException):
    """The request took longer than its time in all."""


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


@dataclass(frozen=True, slots=True)
class Call:
    """What the connections of a request must know."""

    what: str  # is asked: url, proxy or callback
    settings: JobSettings
    deadline: Deadline


@dataclass(frozen=True, slots=True)
class Request:
    """A request, before it is written for a connection. The names of its headers are in small letters."""

    method: str
    target: Target
    headers: Mapping[str, str]
    content: bytes | None = None

    @property
    def path(self) -> str:
        """The path and the query, as they are sent."""
        path = self.target.path
        return httpx.URL(self.target.url).raw_path.decode() if "/." in path else path

    def sent_headers(self) -> dict[str, str]:
        """All headers of the request. Raises LocalProtocolError for one that would be more than a line."""
        sent = {"host": self.target.authority, **self.headers}
        if self.content is not None:
            sent["content-length"] = str(len(self.content))
        if any(mark in "".join((*sent, *sent.values())) for mark in "\r\n\0"):
            raise httpx.LocalProtocolError("A header has a line break.")
        return sent


class Answer(ABC):
    """The answer to a request, whose body is read as it comes. The names of its headers are in small letters."""

    status_code: int
    headers: Mapping[str, str]

    @property
    def is_success(self) -> bool:
        """Whether the status is from 200 to 299."""
        return 200 <= self.status_code <= 299

    @abstractmethod
    def iter_raw(self) -> Iterator[bytes]:
        """The body in pieces, as it was sent. Raises `httpx.HTTPError`."""

    def read(self) -> bytes:
        """The whole body. Raises `httpx.HTTPError`."""
        return b"".join(self.iter_raw())

    @abstractmethod
    def close(self) -> None:
        """Give the connection up. It is kept if the whole body was read and the server keeps it, too."""


def joined(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers of an answer by their names in small letters. Repeated ones are joined by commas."""
    found: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), _text(raw_value)
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def addresses_of(host: str, port: int, call: Call) -> list[str]:
    """The addresses of a host, all of them checked. Raises AddressRefused, and ConnectError if there is none."""
    try:
        found = public_addresses(host, port, call.what, call.settings)
    except (socket.gaierror, UnicodeError) as error:
        raise httpx.ConnectError(f"The host {host} has no address: {error}") from error
    if not found:
        raise httpx.ConnectError(f"The host {host} has no address.")
    return found


@cache
def ssl_context() -> ssl.SSLContext:
    """One context for all requests of this process: it takes some milliseconds to read the authorities."""
    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
