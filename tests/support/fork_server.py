"""Fork server: starts processes of `manage.py` for tests by a fork, with all modules loaded that read no settings.

A worker needs 0.6 s of CPU from exec to its end, nearly all of it for imports, and the fault tests start hundreds. Each
process of pytest has one server. It has no settings: a module that reads them fails there at once. A child has the
environment, arguments and output of its start, and a session of its own. It runs `manage.py` as `__main__` up to
Python's usual exit. Its hash seed and the path of its imports are those of the server.

The child stays unreaped until its status is asked for, as one of `subprocess.Popen`: its id cannot be another process.
Tests of memory, of signals, of packages and of the start itself use the fixture `real_starts`.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.support import leaks

ROOT = Path(__file__).resolve().parents[2]
LARGEST = 1 << 18  # bytes of a request; the environment is the most of it
MODULES = (
    "django.contrib.admin.options", "django.contrib.auth.apps", "django.contrib.auth.hashers",
    "django.contrib.auth.password_validation", "django.contrib.staticfiles.apps", "django.db.backends.sqlite3.base",
    "django.db.migrations", "django.template.defaulttags", "django.templatetags.i18n", "django.views.debug",
    "django_tasks", "whitenoise.base", "queueops.apps", "queueops.checks", "queueops.contrib.django_tasks",
    "queueops.management.commands.runworker", "queueops.management.commands.watchdog",
    "queueops.worker.supervisor.supervisor", "queueops.worker.supervisor.child_main", "queueops.redis.broker",
    "queueops.kinds.composites.iterator", "queueops.kinds.jobs.handlers", "queueops.kinds.mapreduce.job",
    "queueops.kinds.mapreduce.inspect", "queueops.kinds.operations.store", "queueops.kinds.workflows.definition",
    "queueops.pool_messages.dispatcher", "queueops.watchdog.schedule_firing", "queueops.tasks.declared_schedules",
    "queueops.kinds.workflows.store", "queueops.kinds.composites.store",
)  # fmt: skip
"""With what they import: all that a worker and a watchdog load, as far as it reads no settings."""


class Forked:
    """A process that the server has forked: what the tests use of `subprocess.Popen`."""

    def __init__(self, server: ForkServer, pid: int) -> None:
        self._server = server
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status (negative: the signal that killed it), or None while the process runs."""
        if self.returncode is None:
            self.returncode = self._server.ask({"status_of": self.pid})
        return self.returncode

    def wait(self, timeout: float) -> int:
        """The exit status, once there is one. Raises `subprocess.TimeoutExpired` after `timeout` seconds."""
        deadline, pause = time.monotonic() + timeout, 0.001
        while (status := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            time.sleep(pause := min(2 * pause, 0.05))
        return status


class ForkServer:
    """The server of this process: the first start begins it, and the end of the session ends it."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, arguments: list[str], environment: dict[str, str], output: int, hang_up: signal.Handlers) -> Forked:
        """Run `manage.py` with these arguments; both of its streams write to the descriptor `output`."""
        request = {"arguments": arguments, "environment": environment, "hang_up": hang_up}
        if self.process is None:
            self._begin()
        assert environment.get("PYTHONPATH") == self._path, "modules of another path need a start without the server"
        return Forked(self, self.ask(request, output))

    def ask(self, request: dict[str, Any], *descriptors: int) -> Any:
        """Send a request, and what it needs; the answer."""
        socket.send_fds(self._line, [json.dumps(request).encode()], descriptors)
        return json.loads(self._line.recv(LARGEST))

    def _begin(self) -> None:
        self._path = os.environ.get("PYTHONPATH")
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LARGEST)
        environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], start_new_session=True,
            )  # fmt: skip
        leaks.servers.add(self.process.pid)

    def end(self) -> None:
        """End the server, if it runs: it ends when its line is closed."""
        if self.process is not None:
            self._line.close()
            assert self.process.wait(60) == 0
            leaks.servers.remove(self.process.pid)
            self.process = None


shared = ForkServer()


def serve(line: socket.socket) -> dict[str, Any]:
    """Answer requests. Returns in a forked process alone, with what that is to run."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(line, LARGEST, 1)
        if not message:
            sys.exit()
        request: dict[str, Any] = json.loads(message)
        if "status_of" in request:
            pid, status = os.waitpid(request["status_of"], os.WNOHANG)
            line.send(json.dumps(os.waitstatus_to_exitcode(status) if pid else None).encode())
            continue
        assert len(list(Path("/proc/self/task").iterdir())) == 1, "a thread would be missing in the fork"
        if not os.fork():
            os.setsid()
            for stream in (1, 2):
                os.dup2(descriptors[0], stream)
            os.close(descriptors[0])
            signal.signal(signal.SIGHUP, request["hang_up"])
            line.send(json.dumps(os.getpid()).encode())  # signals to it, and to its session, find it from here on
            line.close()
            return request
        os.close(descriptors[0])


def main() -> None:
    """Serve; in a forked process, run `manage.py`."""
    for name in MODULES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # or each fork would copy what its collector visits
    request = serve(socket.socket(fileno=int(sys.argv[1])))
    os.environ.clear()
    os.environ.update(request["environment"])
    from queueops.model import load_time

    importlib.reload(load_time)
    sys.argv = ["manage.py", *request["arguments"]]
    runpy.run_path("manage.py", run_name="__main__")


if __name__ == "__main__":
    main()
