"""Clients that send their request byte by byte, or do not take the answer: the web server answers others."""

from __future__ import annotations

import http.client
import os
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import psutil
import pytest

from tests.support.waiting import wait_until
from tests.support.webserver import DEMO, ROOT, WebServer

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

HEADER = b"GET /ops/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
BODY = (
    b"POST /ops/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 1000000\r\n\r\nusername="
)
DOCUMENTED = re.search(r"^gunicorn (.+) console\.project\.wsgi$", (ROOT / "docs/production.md").read_text(), re.M)
assert DOCUMENTED
SERVERS = {"demo": DEMO, "documented": tuple(DOCUMENTED[1].split())}


class SlowClient:
    """One connection that sends a byte at a time; it comes again when the server has closed it."""

    def __init__(self, server: WebServer, beginning: bytes) -> None:
        self._server, self._beginning = server, beginning
        self.closed = 0
        self._open()

    def send(self) -> None:
        try:
            self._connection.send(b"x")
        except OSError:
            self.closed += 1
            self.close()
            self._open()

    def close(self) -> None:
        self._connection.close()

    def _open(self) -> None:
        self._connection = self._server.connect()
        self._connection.sendall(self._beginning)


@contextmanager
def slow_clients(server: WebServer, count: int, beginning: bytes) -> Iterator[list[SlowClient]]:
    clients = [SlowClient(server, beginning) for _ in range(count)]
    ended = Event()

    def feed() -> None:
        while not ended.wait(0.2):
            for client in clients:
                client.send()

    thread = Thread(target=feed)
    thread.start()
    try:
        yield clients
    finally:
        ended.set()
        thread.join()
        for client in clients:
            client.close()


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short times, so that a test sees their end."""
    for name in ("HEADER", "BODY", "ANSWER"):
        monkeypatch.setenv(f"QUEUEOPS_{name}_WITHIN", "3")


@pytest.mark.parametrize("options", SERVERS.values(), ids=list(SERVERS))
def test_others_are_answered_while_fifty_clients_are_slow_and_a_long_filter_is_too(
    options: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HEADER", "BODY"):
        monkeypatch.setenv(f"QUEUEOPS_{name}_WITHIN", "300")  # it is the number of threads that is tested here
    with WebServer(tmp_path, options) as server:
        for beginning in (HEADER, BODY):
            with slow_clients(server, 50, beginning) as clients:
                for _ in range(3):
                    assert server.ask("GET", "/ops/login/").status == 200
                assert [client.closed for client in clients] == [0] * 50
        answer = server.ask("GET", f"/ops/tasks/?name={'x' * 7000}")  # 414, of the web server itself, has no page
        assert (answer.status, answer.headers["Location"].partition("?")[0]) == (302, "/ops/login/")


@pytest.mark.usefixtures("limits")
def test_a_slow_client_and_one_that_takes_no_answer_lose_their_connections(tmp_path: Path) -> None:
    """More of them than threads: each that comes again waits for its turn, as the others do."""
    largest = max((ROOT / "static").rglob("*.css"), key=os.path.getsize).relative_to(ROOT)
    request = f"GET /{largest} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    with WebServer(tmp_path) as server:
        for beginning in (HEADER, BODY):
            with slow_clients(server, 150, beginning) as clients:
                wait_until(lambda clients=clients: all(each.closed for each in clients), say=server.log, timeout=120)
                assert server.ask("GET", "/ops/login/").status == 200
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", server.port))
            client.sendall(request * 100)
            wait_until(lambda: _is_closed(server, client), say=server.log, every=0.2)  # it reads all connections
        assert "Traceback" not in server.log()
        assert "WORKER TIMEOUT" not in server.log()


def test_clients_that_do_not_close_their_connection_hold_up_no_others(tmp_path: Path) -> None:
    """gunicorn waits 2 s for each of them in its only loop."""
    request = b"GET /ops/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    with WebServer(tmp_path, (*DEMO, "--workers", "1")) as server, ExitStack() as stack:
        for _ in range(150):
            stack.enter_context(server.connect()).sendall(request)
        assert server.ask("GET", "/ops/login/").status == 200
        assert "WORKER TIMEOUT" not in server.log()


def _is_closed(server: WebServer, client: socket.socket) -> bool:
    """Whether the server holds no end of the connection any more."""
    ours = client.getsockname()
    with suppress(psutil.Error):
        return not any(
            connection.raddr == ours and connection.status == psutil.CONN_ESTABLISHED
            for connection in psutil.net_connections("tcp")
        )
    return False


def test_one_connection_serves_many_requests(tmp_path: Path) -> None:
    """Each request has its own time; the client keeps its connection."""
    with WebServer(tmp_path) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        for _ in range(3):
            connection.request("GET", "/ops/login/")
            answer = connection.getresponse()
            assert (answer.status, answer.headers["Connection"]) == (200, "keep-alive")
            assert b"</html>" in answer.read()
        connection.close()
