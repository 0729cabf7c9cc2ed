"""Real worker processes, each supervisor in a session of its own, and the ledger that their tasks write."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from tests.faults.ledger import gate
from tests.support.fork_server import Forked, ForkServer
from tests.support.leaks import runs
from tests.support.waiting import stands_still, wait_until

ROOT = Path(__file__).resolve().parents[2]


class Line(NamedTuple):
    """One line of the ledger."""

    id: str
    fence: int
    pid: int
    phase: str


class Ledger:
    """What the tasks themselves saw, outside of Redis."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def lines(self, phase: str = "") -> list[Line]:
        rows = [line.split() for line in self.path.read_text().splitlines()]
        found = [Line(row[0], int(row[1]), int(row[2]), row[3]) for row in rows]
        return [line for line in found if not phase or line.phase == phase]

    def close(self, name: str) -> None:
        """Tasks that come to this gate wait there."""
        gate(self.path, name).touch()

    def open(self, name: str) -> None:
        """They go on."""
        gate(self.path, name).unlink()

    def starts(self) -> dict[str, int]:
        counts: dict[str, int] = defaultdict(int)
        for line in self.lines("start"):
            counts[line.id] += 1
        return counts


class Worker:
    """One ``manage.py runworker``, or another command."""

    def __init__(
        self,
        log: Path,
        settings: dict[str, Any],
        ledger: Ledger,
        *arguments: str,
        command: str = "runworker",
        hang_up: signal.Handlers = signal.SIG_DFL,
        server: ForkServer | None = None,
        launcher: Sequence[str] = (),
    ) -> None:
        """Start it: with a fork server by a fork, else as a user does, by a program that executes it.

        ``hang_up`` is what SIGHUP does to the process at its start: the tests may run under ``nohup``.
        """
        before = partial(signal.signal, signal.SIGHUP, hang_up)
        environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
            "QUEUEOPS_TESTS_SETTINGS": json.dumps(settings),
            "QUEUEOPS_TESTS_LEDGER": str(ledger.path),
        }
        self.log = log
        self.popen: subprocess.Popen[bytes] | Forked
        with log.open("ab") as output:
            if server is not None:
                self.popen = server.start([command, *arguments], environment, output.fileno(), hang_up)
                return
            self.popen = subprocess.Popen(
                [*launcher, sys.executable, "manage.py", command, *arguments],
                cwd=ROOT, env=environment, stdout=output, stderr=output, start_new_session=True, preexec_fn=before,
            )  # fmt: skip

    @property
    def pid(self) -> int:
        return self.popen.pid

    def children(self) -> list[int]:
        """The processes that run tasks (and not those that only give back what a dead one held)."""
        started = {int(pid) for pid in re.findall(r"Process (\d+) started", self.text())}
        try:
            children = psutil.Process(self.pid).children()
        except psutil.NoSuchProcess:
            return []
        return [child.pid for child in children if child.pid in started and runs(child)]

    def child(self) -> int:
        """Wait for the one child process."""
        return int(wait_until(self.children, say=self.text)[0])

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def signal_all(self, number: int) -> None:
        os.killpg(self.pid, number)

    def freeze(self) -> None:
        """Stop all of it where it is; every thread stands still when this returns."""
        self.signal_all(signal.SIGSTOP)
        for pid in [self.pid, *self.children()]:
            threads = Path(f"/proc/{pid}/task")
            wait_until(lambda threads=threads: all(stands_still(thread) for thread in threads.iterdir()))

    def stop(self, timeout: float = 60) -> int:
        """SIGTERM, and the exit status."""
        self.signal(signal.SIGTERM)
        return self.wait(timeout)

    def wait(self, timeout: float = 60) -> int:
        try:
            return self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the worker did not end within {timeout} s; it says:\n{self.text()}") from None

    def text(self) -> str:
        return self.log.read_text()

    def end(self) -> None:
        """At the end of a test, however it went."""
        try:
            children = psutil.Process(self.pid).children()
        except psutil.NoSuchProcess:
            children = []
        if self.popen.poll() is None:
            self.signal_all(signal.SIGCONT)
            self.signal_all(signal.SIGKILL)
            self.popen.wait(60)
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()
