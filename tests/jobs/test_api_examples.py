"""The example clients of `docs/jobs.md`, in curl and in Python, as they are written there, against a real server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from queueops import inspect
from tests.jobs.test_api_server import secret_of
from tests.support.webserver import ROOT, WebServer

HOST = "https://ops.example.com"
DOCS = (ROOT / "docs" / "jobs.md").read_text()


def example(language: str) -> str:
    """The example in this language that asks the host of the documentation."""
    (found,) = (block for block in re.findall(rf"```{language}\n(.*?)```", DOCS, re.DOTALL) if HOST in block)
    return str(found)


@pytest.mark.timeout(300)
def test_the_example_clients_hand_in_and_read_jobs(
    namespace: str, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUEOPS_API", "1")
    monkeypatch.setenv("QUEUEOPS_TESTS_URL", redis_url)
    with WebServer(tmp_path) as server:
        token = secret_of(server, "shop", "--scope", "submit", "--scope", "read")

        def run(*command: str, text: str) -> str:
            text = text.replace(HOST, f"http://127.0.0.1:{server.port}")
            environment = server.environment | {"TOKEN": token}
            done = subprocess.run(
                command, input=text, env=environment, capture_output=True, text=True, timeout=120, check=False
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        made, found = map(json.loads, re.findall(r"\{.*?\}(?=\{|\Z)", run("sh", "-e", text=example("console"))))
        assert list(made) == ["id"]
        assert (found["jobs"], found["next"]) == ([], "")
        for _ in range(2):  # the second one has the same idempotency key
            assert run(sys.executable, "-", text=example("python")) == "pending\n"
        first, second = sorted(row.id for row in inspect.jobs().rows)
        assert {made["id"]} < {first, second}
