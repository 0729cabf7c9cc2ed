"""Clients of the HTTP API in the soak of jobs: they hand in jobs one by one and in bulk, and repeat requests.

gunicorn answers them as in production. A request that is repeated with its idempotency key must make no second job.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.webserver import ROOT, WebServer

CLIENTS, BULK, ALONE = 8, 50, 4
"""Threads that send, jobs of a bulk request, and every how many of them are handed in one by one."""
FIELDS = {"aggregation": "aggr_id", "limit": "aggr_limit", "retries": "max_retries"}


@contextmanager
def serving_api(folder: Path) -> Iterator[tuple[int, str]]:
    """Run the server with two processes; gives its port and a token."""
    folder.mkdir(mode=0o700)
    with WebServer(folder, ("-c", "python:console.project.web"), "tests.faults.settings") as server:
        command = [sys.executable, str(ROOT / "manage.py"), "apitoken", "create", "soak", "--scope", "submit"]
        made = subprocess.run(command, env=server.environment, capture_output=True, text=True, check=True)
        yield server.port, made.stdout.strip()


def hand_in(port: int, token: str, jobs: Iterable[dict[str, Any]]) -> list[str]:
    """Hand in all jobs; their ids. Each request is sent twice. Raises RuntimeError for an answer that is wrong."""
    wanted = [{FIELDS.get(name, name): value for name, value in job.items()} for job in jobs]
    parts = [wanted[start : start + BULK] for start in range(0, len(wanted), BULK)]
    with ThreadPoolExecutor(CLIENTS) as clients:
        found = clients.map(lambda numbered: _part(port, token, *numbered), enumerate(parts))
        return [id for ids in found for id in ids]


def _part(port: int, token: str, number: int, jobs: Sequence[dict[str, Any]]) -> list[str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        if number % ALONE:
            return list(_twice(connection, token, f"part {number}", "/bulk", {"jobs": jobs})["ids"])
        return [
            str(_twice(connection, token, f"job {number}.{index}", "", job)["id"]) for index, job in enumerate(jobs)
        ]
    finally:
        connection.close()


def _twice(connection: http.client.HTTPConnection, token: str, key: str, path: str, body: Any) -> dict[str, Any]:
    """Send a request, and again as if its answer had been lost."""
    answers = []
    for wanted in (201, 200):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Idempotency-Key": key}
        connection.request("POST", f"/api/v1/jobs{path}", json.dumps(body).encode(), headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != wanted:
            raise RuntimeError(f"{answer.status} in place of {wanted}: {text[:500]!r}")
        answers.append(json.loads(text))
    if answers[0] != answers[1]:
        raise RuntimeError(f"a repeated request has made other jobs: {answers}")
    found: dict[str, Any] = answers[0]
    return found
