"""The documented nginx in front of gunicorn: it keeps slow clients away, and tells who asks."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import sqlite3
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.faults.test_slow_clients import BODY, HEADER, slow_clients
from tests.support.chromium import find_nginx
from tests.support.waiting import wait_until
from tests.support.webserver import ROOT, WebServer, cookies_of

pytestmark = [pytest.mark.faults, pytest.mark.nginx, pytest.mark.timeout(300)]

FOUND = re.search(r"^```nginx\n(.+?)^```", (ROOT / "docs/production.md").read_text(), re.M | re.S)
assert FOUND
MAIN = """
{user}
pid nginx.pid;
error_log stderr;
events {{ }}
http {{
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
    {server}
}}
"""
SELF_SIGNED = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=ops.example.org -keyout key -out cert"


class Proxy:
    """nginx before a web server; `connect` and `ask` go through it."""

    def __init__(self, server: WebServer, port: int) -> None:
        self._server, self.port = server, port
        self._tls = ssl.create_default_context()
        self._tls.check_hostname, self._tls.verify_mode = False, ssl.CERT_NONE

    def connect(self, timeout: float = 60) -> socket.socket:
        return self._tls.wrap_socket(socket.create_connection(("127.0.0.1", self.port), timeout))

    def ask(self, method: str, path: str, address: str = "127.0.0.1", **headers: str) -> int:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, context=self._tls, timeout=60, source_address=(address, 0)
        )
        with closing(connection):
            connection.request(method, path, headers=headers | ({"Content-Length": "0"} if method == "POST" else {}))
            return connection.getresponse().status


@contextmanager
def proxied(server: WebServer, directory: Path) -> Iterator[Proxy]:
    """The documented text, with ports and a certificate of this test."""
    subprocess.run(SELF_SIGNED.split(), cwd=directory, check=True, capture_output=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    text = FOUND[1] if FOUND else ""
    for documented, own in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("http://127.0.0.1:8000", f"http://127.0.0.1:{server.port}"),
        ("/etc/ssl/ops.example.org.pem", str(directory / "cert")),
        ("/etc/ssl/ops.example.org.key", str(directory / "key")),
    ):
        assert text.count(documented) == 1
        text = text.replace(documented, own)
    configuration = directory / "nginx.conf"
    configuration.write_text(MAIN.format(user="user root;" if os.geteuid() == 0 else "", server=text))
    command = [
        find_nginx() or "nginx",
        "-p",
        str(directory),
        "-c",
        str(configuration),
        "-e",
        "stderr",
        "-g",
        "daemon off;",
    ]
    with (directory / "nginx.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    proxy = Proxy(server, port)
    try:
        wait_until(lambda: _answers(proxy), say=(directory / "nginx.log").read_text)
        yield proxy
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _answers(proxy: Proxy) -> bool:
    try:
        return proxy.ask("GET", "/ops/login/") == 200
    except OSError:
        return False


@pytest.mark.parametrize("beginning", [HEADER, BODY], ids=["header", "body"])
def test_slow_clients_do_not_reach_a_gunicorn_with_default_settings(beginning: bytes, tmp_path: Path) -> None:
    with (
        WebServer(tmp_path, ()) as server,
        proxied(server, tmp_path) as proxy,
        slow_clients(proxy, 50, beginning),
    ):
        for _ in range(3):
            assert proxy.ask("GET", "/ops/login/") == 200


def test_the_audit_log_knows_the_address_of_the_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUEUEOPS_BEHIND_PROXY", "1")
    with WebServer(tmp_path, ()) as server, proxied(server, tmp_path) as proxy:
        session = cookies_of(server.log_in("ada", "correct horse"), "sessionid")
        lie = {"X-Real-IP": "192.0.2.6", "Cookie": session}
        assert proxy.ask("POST", "/ops/tasks/x/_retry", address="127.0.0.2", **lie) == 403
    with closing(sqlite3.connect(next(tmp_path.rglob("db.sqlite3")))) as database:
        found = database.execute("SELECT address FROM queueops_console_auditentry").fetchall()
    assert found == [("127.0.0.2",)]
