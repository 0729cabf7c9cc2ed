"""HTTP/1.1 exchanges of jobs with servers that send unusual or wrong bytes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from queueops.kinds.jobs.http.http_client import Deadline, answer_to
from queueops.kinds.jobs.http.http_connection import MOST_BESIDE
from queueops.kinds.jobs.http.http_exchange import Request
from queueops.kinds.jobs.http.http_failures import AttemptFailed
from queueops.kinds.jobs.http.net_guard import check_url
from queueops.kinds.jobs.settings import JobSettings, read_settings
from tests.support.for_each import for_each

HERE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere"


class RawServer:
    """Answers the first request of each connection with bytes, and each other one on it with HERE."""

    def __init__(self, answer: bytes, *, hangs_up: bool) -> None:
        self.answer, self.hangs_up = answer, hangs_up
        self.asked: list[bytes] = []
        self.connections = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/"
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        answer = self.answer
        with connection, suppress(OSError):  # the client has gone
            while asked := connection.recv(65_536):
                self.asked.append(asked)
                connection.sendall(answer)
                if self.hangs_up:
                    return
                answer = HERE

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in self._open:
            with suppress(OSError):  # it is closed
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(60)


@contextmanager
def sending(answer: bytes, *, hangs_up: bool = False) -> Iterator[RawServer]:
    server = RawServer(answer, hangs_up=hangs_up)
    try:
        yield server
    finally:
        server.close()


def get(
    url: str, settings: JobSettings, seconds: float = 60, content: bytes | None = None
) -> tuple[int, dict[str, str], bytes]:
    target, method = check_url(url, "url", settings), "GET" if content is None else "POST"
    with answer_to(
        method, target, what="url", headers={}, settings=settings, deadline=Deadline(seconds), content=content
    ) as answer:
        return answer.status_code, dict(answer.headers), answer.read()


@for_each(
    ("answer", "body"),
    [
        (b"HTTP/1.1 200 OK\nContent-Length: 4\n\nhere", b"here"),
        (b"HTTP/1.1 200\r\nContent-Length: 4\r\n\r\nhere", b"here"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n2;a=b\r\nre\r\n0\r\nX-End: 1\r\n\r\n",
            b"here",
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n4\r\nhere\r\n0\r\n\r\n", b"here"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4 \r\nhere\r\n0\r\n\r\n", b"here"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nhere and more", b"here"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + HERE, b"here"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 4, 4\r\n\r\nhere", b"here"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nA B: c\r\nX: y\r\n\r\nhere", b"here"),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n: d\r\nContent-Length: 4\r\n\r\nhere", b"here"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n", b""),
    ],
)
def test_an_unusual_answer_is_read(local: JobSettings, answer: bytes, body: bytes) -> None:
    with sending(answer) as server:
        assert get(server.url, local)[2] == body


def test_an_answer_has_no_headers_of_those_that_only_inform(local: JobSettings) -> None:
    with sending(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + HERE) as server:
        assert get(server.url, local)[1] == {"content-length": "4"}


def test_the_connection_of_an_unusual_answer_is_used_again(local: JobSettings) -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhere\r\n0\r\n\r\n"
    for first in (chunked, b"HTTP/1.1 100 Continue\r\n\r\n" + HERE, b"HTTP/1.1 204 No Content\r\n\r\n"):
        with sending(first) as server:
            get(server.url, local)
            assert get(server.url, local)[2] == b"here"
            assert server.connections == 1


def test_a_body_without_a_length_ends_with_the_connection(local: JobSettings) -> None:
    with sending(b"HTTP/1.1 200 OK\r\n\r\nhere", hangs_up=True) as server:
        assert get(server.url, local)[2] == b"here"
    with sending(b"HTTP/1.0 200 OK\r\n\r\nhere", hangs_up=True) as server:
        assert get(server.url, local)[2] == b"here"


def test_the_last_chunk_ends_a_body_even_if_the_server_hangs_up_after_it(local: JobSettings) -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0004\r\nhere\r\n0\r\n"
    with sending(chunked, hangs_up=True) as server:
        assert get(server.url, local)[2] == b"here"


@for_each(
    ("answer", "reason"),
    [
        (b"", "hung up without an answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "hung up without an answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhere", "hung up"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhere\r\n", "hung up"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n", "hung up without an answer"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhere\r\n00", "hung up"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "HTTP/"),
        (b"HTTP/1.1 200 OK\r\nA B: c\r\nContent-Length: 4\r\n\r\nhere", "is no header"),
        (b"HTTP/1.1 200 OK\r\nA B: c\r\nTransfer-Encoding: chunked\r\n\r\nhere", "is no header"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n4\r\nhere\r\n0\r\n\r\n", "chunked, gzip"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n4\r\nhere\r\n0\r\n\r\n",
            "transfer-encoding chunked, gzip",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4, 5\r\n\r\nhere", "Content-Length 4, 5 is not valid"),
        (b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nhere", "Content-Length  is not valid"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: , 9\r\n\r\nhere", "Content-Length , 9 is not valid"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4_0\r\n\r\nhere", "Content-Length 4_0 is not valid"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\nhere", "is not valid"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nhere", "Content-Length"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\nhere", "Content-Length"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhere\r\n", "chunk"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhere", "transfer-encoding gzip"),
        (b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhere", "another protocol"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\nhere", "another protocol"),
    ],
)
def test_a_wrong_answer_is_a_failure(local: JobSettings, answer: bytes, reason: str) -> None:
    with sending(answer, hangs_up=True) as server, pytest.raises(AttemptFailed, match=reason):
        get(server.url, local)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * MOST_BESIDE,
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * (MOST_BESIDE // 6) + b"\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * (MOST_BESIDE // 20),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"x" * MOST_BESIDE,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: " + b"x" * MOST_BESIDE,
    ],
)
def test_what_is_no_body_has_a_limit(local: JobSettings, answer: bytes) -> None:
    with (
        sending(answer) as server,
        pytest.raises(AttemptFailed, match=r"ore than (102,400 bytes|65536 bytes|100 headers)"),
    ):
        get(server.url, local)


@pytest.mark.parametrize("more", [b"\x00junk", HERE.replace(b"here", b"evil")])
def test_what_follows_an_answer_is_not_the_next_one(local: JobSettings, more: bytes) -> None:
    with sending(HERE + more) as server:
        for _ in range(2):
            assert get(server.url, local)[2] == b"here"
        assert server.connections == 2


def test_a_connection_that_the_server_ends_is_not_kept(local: JobSettings) -> None:
    with sending(HERE.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n")) as server:
        for _ in range(2):
            assert get(server.url, local)[2] == b"here"
        assert server.connections == 2


def test_something_in_a_kept_connection_closes_it(local: JobSettings) -> None:
    with sending(HERE) as server:
        get(server.url, local)
        server._open[0].sendall(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        assert get(server.url, local)[0] == 200
        assert server.connections == 2


def test_few_connections_are_kept(local: JobSettings) -> None:
    with sending(HERE) as first, sending(HERE) as second, sending(HERE) as third:
        for server in (first, second, third, second, third, first):
            get(server.url, local)
        assert [server.connections for server in (first, second, third)] == [2, 1, 1]


def test_repeated_headers_are_joined_and_have_any_characters(local: JobSettings) -> None:
    headers = b"A: 1\r\na: 2\r\nB: \xe9\r\nC: \xc3\xa9\r\n"
    with sending(HERE.replace(b"OK\r\n", b"OK\r\n" + headers)) as server:
        found = get(server.url, local)[1]
    assert (found["a"], found["b"], found["c"]) == ("1, 2", "é", "é")


def test_a_server_that_is_silent_is_left(local: JobSettings) -> None:
    impatient = read_settings({"PRIVATE_NETWORKS": ["127.0.0.0/8"], "PORTS": None, "READ_TIMEOUT": 0.1})
    with sending(b"") as server:
        with pytest.raises(AttemptFailed):
            get(server.url, impatient)
        with pytest.raises(AttemptFailed, match=r"longer than 0\.2 s"):
            get(server.url, local, seconds=0.2)


def test_a_body_goes_to_a_server_that_does_not_read_until_the_deadline(local: JobSettings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/"
        with pytest.raises(AttemptFailed, match=r"longer than 0\.3 s"):
            get(url, local, 0.3, b"x" * 50_000_000)


def test_a_request_is_written_as_it_was_checked(local: JobSettings) -> None:
    with sending(HERE) as server:
        get(f"{server.url}a b/../c%20d/ü?q=é&r=[1]#part".replace(" ", "%20"), local)
    line, *headers = server.asked[0].decode().split("\r\n")
    assert line == "GET /c%20d/%C3%BC?q=%C3%A9&r=[1] HTTP/1.1"
    own = ["accept: */*", "accept-encoding: identity", "user-agent: QueueOps"]
    assert headers[:4] == [f"host: {server.url[7:-1]}", *own]


@pytest.mark.parametrize("value", ["a\r\nB: c", "a\nb", "a\0"])
def test_a_header_with_a_line_break_is_not_written(local: JobSettings, value: str) -> None:
    request = Request("GET", check_url("http://127.0.0.1/", "url", local), {"a": value})
    with pytest.raises(AttemptFailed, match="line break"):
        request.sent_headers()
