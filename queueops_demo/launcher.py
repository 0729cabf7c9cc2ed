"""Demo launcher: starts all processes of the demo, restarts them after crashes, and ends them."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from queueops_demo.instance import Instance, python
from queueops_demo.process import Process
from queueops_demo.reserve import DemoFailed, reserve
from queueops_demo.store import Store

TICK = 0.2
ANSWER_WITHIN = 90.0
GRACE = 5.0
"""Seconds that running tasks and open requests have to end."""
RELEASE = 5.0
"""Seconds after the second SIGTERM; then the processes are killed."""


class Launcher:
    """Runs the processes of one demo. `say` prints the access data, `tell` prints events."""

    def __init__(self, instance: Instance, say: Callable[[str], None], tell: Callable[[str], None]) -> None:
        self.instance = instance
        self._say = say
        self._tell = tell
        self._processes: list[Process] = []
        self._store = Store(instance.store, instance.log("store"))
        self._asked = 0

    def run(self, *, rate: float | None = None, duration: float | None = None) -> None:
        """Run until SIGINT, SIGTERM or the end of `duration` seconds, counted from the console's first response.

        Raises DemoFailed: the port or the directory is in use, or a process does not start or crashes repeatedly.
        """
        reserved = reserve(self.instance)
        self.instance = reserved.instance
        before = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            self._start(reserved.listener, rate)
            self._watch(float("inf") if duration is None else time.monotonic() + duration)
        finally:
            self._end()
            reserved.close()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self._asked += 1

    # Starting

    def _start(self, listener: socket.socket, rate: float | None) -> None:
        self._tell(f"starting in {self.instance.data}")
        self._prepare([] if rate is None else [str(rate)])
        if self._asked:
            return
        for name, command, files in self._commands(listener):
            process = Process(name, command, self.instance.environment(), self.instance.log(name), files)
            self._processes.append(process)
            process.start()
        self._wait_for_page()

    def _commands(self, listener: socket.socket) -> list[tuple[str, list[str], tuple[int, ...]]]:
        web = python("gunicorn", "-c", "python:queueops_demo.web", "-b", f"fd://{listener.fileno()}")
        return [
            ("console", [*web, "console.project.wsgi"], (listener.fileno(),)),
            ("worker", python("django", "runworker", "--processes", "2"), ()),
            ("watchdog", python("django", "watchdog"), ()),
            ("sample-server", python("queueops_demo.sample_server"), ()),
            ("feeder", python("queueops_demo.feeder"), ()),
        ]

    def _prepare(self, rate: list[str]) -> None:
        """Run the preparation to its end. Raises DemoFailed with the last lines of its output."""
        command = python("queueops_demo.prepare", *rate)
        done = subprocess.run(  # noqa: S603 - our own command line
            command, env=self.instance.environment(), capture_output=True, check=False, start_new_session=True
        )
        if done.returncode:
            words = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()[-5:]
            raise DemoFailed("\n".join([f"prepare ended with {done.returncode}:", *words]))

    def _wait_for_page(self) -> None:
        deadline = time.monotonic() + ANSWER_WITHIN
        while not self._asked and not _answers(self.instance.url):
            self._look()
            if time.monotonic() > deadline:
                raise DemoFailed(f"{self.instance.url} does not answer; see {self.instance.log('console')}")
            time.sleep(TICK)
        if not self._asked:
            self._introduce()

    def _introduce(self) -> None:
        from queueops_demo.prepare import NAME, password, token

        self._say(f"Console: {self.instance.url}")
        self._say(f"User: {NAME}")
        self._say(f"Password: {password(self.instance.data)}")
        if secret := token(self.instance.data):
            self._say(f"API: {self.instance.api}docs")
            self._say(f"Token: {secret}")
        self._say(f"Terminal: {self.instance.terminal}")

    # Running and ending

    def _watch(self, end: float) -> None:
        while not self._asked and time.monotonic() < end:
            self._look()
            time.sleep(TICK)

    def _look(self) -> None:
        if news := self._store.watch():
            self._tell(news)
        for process in self._processes:
            if news := process.watch():
                self._tell(news)
            if process.hopeless:
                raise DemoFailed(f"{process.name} crashes repeatedly; see {process.log}")

    def _end(self) -> None:
        self._tell(f"ending; tasks may take {GRACE:g} s, Ctrl-C again ends at once")
        asked = self._asked
        for process in reversed(self._processes):
            process.end()
        if not self._gone(GRACE, asked + 1):
            for process in self._processes:
                process.end()
            self._gone(RELEASE, asked + 2)
        for process in self._processes:
            process.kill()
        self._store.stop()
        self._tell("ended")

    def _gone(self, seconds: float, impatient: int) -> bool:
        """Wait for the processes to end. False after the time limit, or after as many signals as `impatient`."""
        deadline = time.monotonic() + seconds
        while any(process.running for process in self._processes):
            if time.monotonic() > deadline or self._asked >= impatient:
                return False
            time.sleep(0.05)
        return True


def _answers(url: str) -> bool:
    """Whether the console shows its login page."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - always http, made by Instance
            return bool(answer.status == 200)
    except (OSError, urllib.error.HTTPError):
        return False


def directory(chosen: str | None, base: Path) -> Path:
    """The demo's directory: `var/demo` of the project, or the given one."""
    return Path(chosen).expanduser().absolute() if chosen else base / "var" / "demo"
