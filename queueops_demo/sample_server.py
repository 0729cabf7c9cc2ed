"""Sample server of the demo's jobs, source of files and target of callbacks: `python -m queueops_demo.sample_server`.

It is slow, flaky, redirects, and lies about types, as other systems do. Its address stays the same at the next start.
"""

from __future__ import annotations

import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HOST = "127.0.0.1"
WITHIN = "http://169.254.169.254/latest/meta-data/"
"""What an attacker would like a worker to read. The network guard refuses it."""


class Exchange(BaseHTTPRequestHandler):
    """One request. The first part of its path says how it is answered."""

    def do_GET(self) -> None:
        """Send a file, or what comes in its place."""
        SOURCES.get(self.path.split("/")[1], missing)(self)

    def do_POST(self) -> None:
        """Take a callback, or refuse it."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        TARGETS.get(self.path.split("/")[1], missing)(self)

    def answer(self, status: int, body: bytes = b"", kind: str = "text/plain", **headers: str) -> None:
        """Send a whole answer. A `_` in the name of a header stands for a `-`."""
        self.send_response(status)
        for name, value in ({"Content_Type": kind, "Content_Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: most requests are meant to fail."""


def picture(exchange: Exchange) -> None:
    """A picture of a source text, after a moment."""
    from queueops_demo import library, png

    time.sleep(random.uniform(0.1, 0.8))
    exchange.answer(200, png.draw(library.text_of(library.any_source())).png(), "image/png")


def slow(exchange: Exchange) -> None:
    """A picture that takes long."""
    time.sleep(random.uniform(4, 9))
    picture(exchange)


def flaky(exchange: Exchange) -> None:
    """Busy two times of three, and says when to come again."""
    if random.random() < 2 / 3:
        exchange.answer(503, b"too many orders", Retry_After=str(random.randint(5, 25)))
    else:
        picture(exchange)


def moved(exchange: Exchange) -> None:
    """Leads to a picture."""
    exchange.answer(302, Location=exchange.path.replace("/moved/", "/pictures/"))


def astray(exchange: Exchange) -> None:
    """Leads into the network of the worker."""
    exchange.answer(302, Location=WITHIN)


def liar(exchange: Exchange) -> None:
    """Calls a page a picture."""
    exchange.answer(200, b"<!doctype html><title>Sold out</title><p>This product is sold out.", "image/png")


def torn(exchange: Exchange) -> None:
    """Breaks off in the middle of a file."""
    exchange.send_response(200)
    exchange.send_header("Content-Length", "20000")
    exchange.end_headers()
    exchange.wfile.write(b"\x89PNG\r\n\x1a\n" + bytes(500))
    exchange.close_connection = True


def missing(exchange: Exchange) -> None:
    """Not found."""
    exchange.answer(404, b"there is no such product")


def told(exchange: Exchange) -> None:
    """Takes a callback."""
    exchange.answer(202, b"thank you")


def told_slowly(exchange: Exchange) -> None:
    """Takes a callback after some seconds."""
    time.sleep(random.uniform(2, 6))
    told(exchange)


def told_sometimes(exchange: Exchange) -> None:
    """Takes a callback, or is at maintenance."""
    if random.random() < 0.6:
        exchange.answer(503, b"maintenance until the cache is warm", Retry_After=str(random.randint(10, 40)))
    else:
        told(exchange)


def gone(exchange: Exchange) -> None:
    """Wants no more callbacks."""
    exchange.answer(410, b"this shop has closed")


Route = Callable[[Exchange], None]
SOURCES: dict[str, Route] = {
    "pictures": picture,
    "slow": slow,
    "flaky": flaky,
    "moved": moved,
    "astray": astray,
    "liar": liar,
    "torn": torn,
}
TARGETS: dict[str, Route] = {"told": told, "slow": told_slowly, "flaky": told_sometimes, "gone": gone}


class SampleServer(ThreadingHTTPServer):
    """Serves each connection in a thread, which ends with the process."""

    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone is no event."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


def address(data: Path) -> str:
    """The base URL of the server, once it has started; empty before."""
    kept = _kept(data)
    return f"http://{HOST}:{kept}" if kept else ""


def start(data: Path) -> SampleServer:
    """Listen at the port of the last start, or at any free one."""
    try:
        server = SampleServer((HOST, _kept(data)), Exchange)
    except OSError:  # another process has taken the port since
        server = SampleServer((HOST, 0), Exchange)
    _note(data).write_text(f"{server.server_address[1]}\n")
    return server


def _kept(data: Path) -> int:
    try:
        return int(_note(data).read_text())
    except (OSError, ValueError):
        return 0


def _note(data: Path) -> Path:
    return data / "sample-server.port"


def main() -> None:
    """Serve until SIGTERM."""
    from django.conf import settings

    server = start(Path(settings.DATA))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever()


if __name__ == "__main__":
    main()
