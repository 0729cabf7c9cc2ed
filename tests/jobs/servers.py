"""Local HTTP servers: each has routes that are functions, and keeps what it was asked."""

from __future__ import annotations

import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Route = Callable[["Exchange"], None]


@dataclass
class Asked:
    """One request as the server got it."""

    method: str
    path: str
    headers: Message  # names in capital or small letters
    body: bytes
    port: int = 0  # of the client: requests of one connection have the same


@dataclass
class LocalServer:
    """A server on a free port. A path without a route has the answer 404."""

    host: str
    port: int
    routes: dict[str, Route]
    asked: list[Asked] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)  # set at the end: an endless body stops
    scheme: str = "http"

    def url(self, path: str = "/", host: str = "") -> str:
        return f"{self.scheme}://{host or self.host}:{self.port}{path}"


class Exchange(BaseHTTPRequestHandler):
    """One request and its answer."""

    protocol_version = "HTTP/1.1"
    local: LocalServer

    def answer(self, status: int = 200, body: bytes = b"", **headers: str) -> None:
        """Send a whole answer. A `_` in the name of a header stands for a `-`."""
        self.send_response(status)
        for name, value in ({"Content_Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:  # the client was killed between the head and the body: no request has come
            self.close_connection = True
            return
        self.local.asked.append(Asked(self.command, self.path, self.headers, body, self.client_address[1]))
        path = self.path.partition("?")[0]
        try:
            self.local.routes.get(path, lambda exchange: exchange.answer(404))(self)
        except OSError:
            self.close_connection = True  # the client has gone

    do_GET = do_POST = do_CONNECT = _serve  # noqa: N815 - the names of http.server

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


class Quiet(ThreadingHTTPServer):
    """A server that prints nothing when a client has gone."""

    daemon_threads = False

    def __init__(self, *args: Any) -> None:
        self.open: set[socket.socket] = set()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own."""
        self.open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection at its end."""
        self.open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End connections that clients keep."""
        for connection in tuple(self.open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    request_queue_size = 256  # connections of a whole worker at once

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def serving(
    routes: dict[str, Route], host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> Iterator[LocalServer]:
    """Serve until the end of the block; then no thread is left."""
    handler = type("Handler", (Exchange,), {})
    server = Quiet((host, port), handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    local = LocalServer(host, server.server_address[1], routes, scheme="https" if tls else "http")
    handler.local = local  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="local http")
    thread.start()
    try:
        yield local
    finally:
        local.over.set()
        server.shutdown()
        thread.join(60)
        server.hang_up()
        server.server_close()
