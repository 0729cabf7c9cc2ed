"""Jobs over HTTP: `python -m tests.benchmarks.http_submit` hands them in to a gunicorn with two workers.

It prints jobs a second, and the processor time of a job by process: on a busy machine only the latter can be compared.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Thread

import psutil

from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
WORKERS, CLIENTS = 2, 8
JOB = {
    "aggr_id": "shop",
    "aggr_limit": 10,
    "url": "http://93.184.215.14/a.jpg",
    "callback_url": "http://93.184.215.14/d",
}


def main() -> int:
    """Measure one by one, then in bulk; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.http_submit", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--bulk", type=int, default=500, help="jobs of one request")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="queueops-http-") as folder:
        environment = os.environ | {
            "QUEUEOPS_DATA": f"{folder}/data",
            "QUEUEOPS_API": "1",
            "QUEUEOPS_DEBUG": "0",
            "DJANGO_SETTINGS_MODULE": "console.project.settings",
            "PYTHONPATH": str(ROOT),
        }
        _manage(environment, "migrate", "--verbosity", "0")
        token = _manage(environment, "apitoken", "create", "bench").strip()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            command = [sys.executable, "-m", "gunicorn", "-c", "python:console.project.web", "-w", str(WORKERS)]
            server = subprocess.Popen(
                [*command, "-b", f"fd://{listener.fileno()}", "console.project.wsgi"],
                env=environment, cwd=folder, pass_fds=[listener.fileno()],
            )  # fmt: skip
            try:
                port = listener.getsockname()[1]
                wait_until(lambda: len(psutil.Process(server.pid).children()) == WORKERS)
                store = int(json.loads(_manage(environment, "embedded", "start", "--json"))["pid"])
                one, many = json.dumps(JOB).encode(), json.dumps({"jobs": [JOB] * options.bulk}).encode()
                for path, body, jobs in (("/api/v1/jobs", one, 1), ("/api/v1/jobs/bulk", many, options.bulk)):
                    _measure(port, token, path, body, jobs, options.seconds, (server.pid, store))
            finally:
                server.terminate()
                server.wait(30)
                _manage(environment, "embedded", "stop")
    return 0


def _manage(environment: dict[str, str], *words: str) -> str:
    command = [sys.executable, str(ROOT / "manage.py"), *words]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def _measure(
    port: int, token: str, path: str, body: bytes, jobs: int, seconds: float, processes: Sequence[int]
) -> None:
    _send(port, token, path, body, time.monotonic() + 1, [])  # the first requests import
    done: list[int] = []
    before, begun = [_cpu(pid) for pid in processes], time.monotonic()
    threads = [Thread(target=_send, args=(port, token, path, body, begun + seconds, done)) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took, handed_in = time.monotonic() - begun, sum(done) * jobs
    web, store = ((_cpu(pid) - was) / handed_in * 1e6 for pid, was in zip(processes, before, strict=True))
    print(
        f"{path}: {handed_in / took:,.0f} jobs/s; a job costs {web:,.0f} us of the server, {store:,.0f} us of the store"
    )


def _send(port: int, token: str, path: str, body: bytes, until: float, done: list[int]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    count = 0
    while time.monotonic() < until:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 201:
            raise RuntimeError(said)
        count += 1
    done.append(count)
    connection.close()


def _cpu(pid: int) -> float:
    process = psutil.Process(pid)
    return sum(each.cpu_times().user + each.cpu_times().system for each in (process, *process.children(recursive=True)))


if __name__ == "__main__":
    sys.exit(main())
