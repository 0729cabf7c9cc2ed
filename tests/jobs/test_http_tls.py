"""The HTTP client of jobs with TLS and by proxies: names are checked, each way ends in time, and no body is cut."""

from __future__ import annotations

import select
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from queueops.kinds.jobs.http.http_connection import ssl_context
from queueops.kinds.jobs.http.http_failures import AttemptFailed, FailureKind
from queueops.kinds.jobs.settings import JobSettings
from tests.jobs.conftest import Names
from tests.jobs.servers import Exchange, LocalServer, serving
from tests.jobs.test_http_client import CERTIFICATE, ONLY_SECOND, get, says


@pytest.fixture
def tls(tmp_path: Path, names: Names, monkeypatch: pytest.MonkeyPatch) -> Iterator[ssl.SSLContext]:
    """The TLS of a server whose certificate is for files.example, and trusted."""
    subprocess.run(CERTIFICATE.split(), cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert"))
    ssl_context.cache_clear()
    for name in ("files.example", "other.example"):
        names(name, "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    yield context
    ssl_context.cache_clear()


def tunnel(exchange: Exchange) -> None:
    """Connect to this machine, and pass on what comes until one side ends."""
    near, port = exchange.connection, int(exchange.path.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as far:
        exchange.wfile.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        while True:
            for side in select.select([near, far], [], [])[0]:
                if not (data := side.recv(65_536)):
                    exchange.close_connection = True
                    return
                (far if side is near else near).sendall(data)


@contextmanager
def proxying(tls: ssl.SSLContext | None, *targets: LocalServer) -> Iterator[LocalServer]:
    routes = {f"{name}:{target.port}": tunnel for name in ("files.example", "other.example") for target in targets}
    with serving(routes, tls=tls) as proxy:
        yield proxy


@pytest.mark.parametrize("is_safe", [False, True], ids=["http", "https"])
def test_a_tunnel_of_a_proxy_leads_to_the_name_that_the_certificate_has(
    local: JobSettings, tls: ssl.SSLContext, is_safe: bool
) -> None:
    with serving({"/": says(b"safe")}, tls=tls) as server, proxying(tls if is_safe else None, server) as proxy:
        way = proxy.url("/", "files.example").replace("//", "//ada:secret@")
        assert get(server.url("/", "files.example"), local, proxy=way) == b"safe"
        with pytest.raises(AttemptFailed, match=r"TLS failed: .*Hostname mismatch") as failed:
            get(server.url("/", "other.example"), local, proxy=way)
    assert failed.value.failure.retriable is False
    assert [each.path for each in proxy.asked] == [f"{name}.example:{server.port}" for name in ("files", "other")]
    assert proxy.asked[0].headers["Proxy-Authorization"] == "Basic YWRhOnNlY3JldA=="
    assert server.asked[0].headers["Host"] == f"files.example:{server.port}"
    assert "Proxy-Authorization" not in server.asked[0].headers


def test_a_proxy_with_tls_is_asked_for_plain_urls(local: JobSettings, tls: ssl.SSLContext) -> None:
    with serving({"http://files.example/a": says(b"proxied")}, tls=tls) as proxy:
        for name, kind in (("files.example", None), ("other.example", FailureKind.TLS)):
            try:
                found = get("http://files.example/a", local, proxy=proxy.url("/", name))
                assert (found, kind) == (b"proxied", None)
            except AttemptFailed as failed:
                assert failed.failure.kind == kind  # noqa: PT017 - the first one succeeds


def test_a_proxy_that_refuses_a_tunnel_is_told_without_its_password(local: JobSettings, tls: ssl.SSLContext) -> None:
    with serving({}) as proxy, pytest.raises(AttemptFailed) as failed:
        get("https://files.example/", local, proxy=proxy.url().replace("//", "//ada:secret@"))
    assert str(failed.value) == "The connection failed: Tunnel connection failed: 404 Not Found"
    assert failed.value.failure.retriable


def test_a_tunnel_leads_to_no_address_within(names: Names) -> None:
    names("inside.example", "127.0.0.1")
    with serving({}, "127.0.0.2") as proxy, pytest.raises(Exception, match=r"The url inside\.example:443"):
        get("https://inside.example/", ONLY_SECOND, proxy=proxy.url())
    assert proxy.asked == []


def test_the_next_request_goes_by_the_same_connection_with_tls(local: JobSettings, tls: ssl.SSLContext) -> None:
    with serving({"/": says(b"safe")}, tls=tls) as server:
        for _ in range(3):
            assert get(server.url("/", "files.example"), local) == b"safe"
    assert len({each.port for each in server.asked}) == 1


def silent(connection: socket.socket) -> None:
    while connection.recv(65_536):
        pass


def dripping(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"\x16\x03\x03")
        if select.select([connection], [], [], 0.02)[0] and not connection.recv(65_536):
            return


@contextmanager
def accepting(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that does this with its first connection; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                serve(connection)

        thread = threading.Thread(target=accept)
        thread.start()
        yield server.getsockname()[1]
        thread.join(60)


@pytest.mark.parametrize("by_proxy", [False, True], ids=["direct", "by a proxy"])
def test_a_handshake_that_does_not_come_ends_at_the_deadline(
    local: JobSettings, tls: ssl.SSLContext, by_proxy: bool
) -> None:
    with accepting(silent) as port:
        way = f"https://files.example:{port}/"
        url, proxy = ("https://files.example/", way) if by_proxy else (way, "")
        with pytest.raises(AttemptFailed, match=r"It took longer than 0\.3 s\."):
            get(url, local, 0.3, proxy=proxy)


def test_a_tunnel_that_drips_ends_at_the_deadline(local: JobSettings, tls: ssl.SSLContext) -> None:
    with accepting(dripping) as port, pytest.raises(AttemptFailed, match=r"It took longer than 0\.3 s\."):
        get("https://files.example/", local, 0.3, proxy=f"http://files.example:{port}/")


@pytest.mark.parametrize("says_goodbye", [True, False], ids=["with its alert", "without"])
def test_a_body_without_a_length_is_whole_only_if_tls_ends_as_it_must(
    local: JobSettings, tls: ssl.SSLContext, says_goodbye: bool
) -> None:
    def serve(connection: socket.socket) -> None:
        with tls.wrap_socket(connection, server_side=True) as safe:
            safe.recv(65_536)
            safe.sendall(b"HTTP/1.1 200 OK\r\n\r\nhere")
            if says_goodbye:
                safe.unwrap()
            else:
                safe.shutdown(socket.SHUT_RDWR)

    with accepting(serve) as port:
        url = f"https://files.example:{port}/"
        if says_goodbye:
            assert get(url, local) == b"here"
        else:
            with pytest.raises(AttemptFailed, match="The body ended after 4 bytes") as failed:
                get(url, local)
            assert failed.value.failure.kind == "body"
