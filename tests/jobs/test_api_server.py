"""The API of the stand-alone project behind gunicorn, with sockets, processes and tokens as in production."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from queueops import inspect
from tests.jobs.api_client import GOOD
from tests.jobs.test_api import WRONG
from tests.support.webserver import ROOT, Answer, WebServer


def secret_of(server: WebServer, *words: str) -> str:
    """The token that the command prints."""
    command = [sys.executable, str(ROOT / "manage.py"), "apitoken", "create", *words]
    made = subprocess.run(command, env=server.environment, capture_output=True, text=True, check=True)
    return made.stdout.strip()


def ask(server: WebServer, secret: str, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    sent = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"} | headers
    try:
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        return Answer(answer.status, answer.msg, answer.read().decode())
    finally:
        connection.close()


def send(server: WebServer, secret: str, body: Any, path: str = "/api/v1/jobs", **headers: str) -> tuple[int, Any]:
    answer = ask(server, secret, "POST", path, json.dumps(body).encode(), **headers)
    return answer.status, json.loads(answer.text)


@pytest.mark.timeout(300)
def test_a_server_takes_jobs_and_stores_nothing_of_bad_input(
    namespace: str, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("QUEUEOPS_API", "QUEUEOPS_API_CLASSIC"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("QUEUEOPS_TESTS_URL", redis_url)
    with WebServer(tmp_path) as server:
        token = secret_of(server, "shop", "--scope", "submit", "--scope", "read", "--body-limit", "5000")
        slow = secret_of(server, "slow", "--scope", "read", "--rate", "0.01")
        for field, value in WRONG:
            status, problem = send(server, token, GOOD | {field: value})
            assert (status, bool(problem["errors"][0]["reason"])) == (422, True)
            assert f"{problem['errors'][0]['field']}.".startswith(f"{field}.")
        assert send(server, "wrong", GOOD)[0] == 401
        assert send(server, slow, GOOD)[0] == 403
        late = ask(server, slow, "GET", "/api/v1/jobs")
        assert (late.status, late.headers["Retry-After"]) == (429, "100")
        assert send(server, token, GOOD | {"extra": "x" * 3_000_000})[0] == 413
        assert ask(server, token, "POST", "/api/v1/jobs", b"{").status == 400
        assert inspect.jobs().rows == ()

        status, made = send(server, token, GOOD, **{"Idempotency-Key": "order 7"})
        assert (status, send(server, token, GOOD, **{"Idempotency-Key": "order 7"})) == (201, (200, made))
        assert json.loads(ask(server, token, "GET", f"/api/v1/jobs/{made['id']}").text)["state"] == "pending"
        assert send(server, token, GOOD, "/download")[0] == 201
        assert (ask(server, "", "GET", "/hb").text, ask(server, "", "GET", "/api/v1/ready").status) == ("OK", 200)
        for path in ("/hb", "/api/v1/health"):
            head = ask(server, "", "HEAD", path)
            assert (head.status, head.headers["Content-Length"]) == (200, "2" if path == "/hb" else "16")
        page = ask(server, "", "GET", "/api/v1/docs")
        assert (page.status, "cdn" in page.text, "swagger-ui-init.js" in page.text) == (200, False, True)
        assert "Content-Security-Policy" in page.headers
        german = {"Accept-Language": "de"}
        for answer in (
            ask(server, token, "GET", "/api/v1/ready", **german),
            ask(server, token, "POST", "/api/v1/jobs", b"{}", **german),
        ):
            assert {"Content-Security-Policy", "Content-Language"} & {*answer.headers} == set()
            assert "Accept-Language" not in answer.headers.get("Vary", "")
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
        shown = ask(server, "", "GET", "/ops/login/", **german)
        assert (shown.headers["Content-Language"], "Content-Security-Policy" in shown.headers) == ("de", True)
        assert server.log_in("ada", "correct horse").status == 302
        assert len(inspect.jobs().rows) == 2
