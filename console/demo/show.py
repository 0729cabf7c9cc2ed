"""The demo from its start to its end."""

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

from console.demo.part import Part
from console.demo.place import Place, python
from console.demo.reserve import DemoFailed, reserve
from console.demo.store import Store

TICK = 0.2
ANSWER_WITHIN = 90.0
GRACE = 5.0
"""Seconds that running tasks and open requests have to end."""
RELEASE = 5.0
"""Seconds more after the second request to end; then the processes are killed."""


class Show:
    """Starts everything, keeps it running, ends it. `say` takes the lines for the user, `tell` what happens."""

    def __init__(self, place: Place, say: Callable[[str], None], tell: Callable[[str], None]) -> None:
        self.place = place
        self._say = say
        self._tell = tell
        self._parts: list[Part] = []
        self._store = Store(place.store, place.log("store"))
        self._asked = 0

    def run(self, *, rate: float | None = None, duration: float | None = None) -> None:
        """Play until SIGINT, SIGTERM or the end of `duration` seconds, counted from the page's first answer.

        Raises DemoFailed: the port or the directory is in use, something does not start, or dies again and again.
        """
        reserved = reserve(self.place)
        self.place = reserved.place
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
        self._tell(f"starting in {self.place.data}")
        self._once("prepare", python("console.demo.prepare", *([] if rate is None else [str(rate)])))
        if self._asked:
            return
        for name, command, files in self._commands(listener):
            part = Part(name, command, self.place.environment(), self.place.log(name), files)
            self._parts.append(part)
            part.start()
        self._wait_for_page()

    def _commands(self, listener: socket.socket) -> list[tuple[str, list[str], tuple[int, ...]]]:
        web = python("gunicorn", "-c", "python:console.demo.web", "-b", f"fd://{listener.fileno()}")
        return [
            ("console", [*web, "console.project.wsgi"], (listener.fileno(),)),
            ("worker", python("django", "runworker", "--processes", "2"), ()),
            ("watchdog", python("django", "watchdog"), ()),
            ("feeder", python("console.demo.feeder"), ()),
        ]

    def _once(self, name: str, command: list[str]) -> None:
        """Run a command to its end. Raises DemoFailed with its last words."""
        done = subprocess.run(  # noqa: S603 - our own command line
            command, env=self.place.environment(), capture_output=True, check=False, start_new_session=True
        )
        if done.returncode:
            words = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()[-5:]
            raise DemoFailed("\n".join([f"{name} ended with {done.returncode}:", *words]))

    def _wait_for_page(self) -> None:
        deadline = time.monotonic() + ANSWER_WITHIN
        while not self._asked and not _answers(self.place.url):
            self._look()
            if time.monotonic() > deadline:
                raise DemoFailed(f"{self.place.url} does not answer; see {self.place.log('console')}")
            time.sleep(TICK)
        if not self._asked:
            self._introduce()

    def _introduce(self) -> None:
        from console.demo.prepare import NAME, password

        self._say(f"Console: {self.place.url}")
        self._say(f"User: {NAME}")
        self._say(f"Password: {password(self.place.data)}")
        self._say(f"Terminal: {self.place.terminal}")

    # Running and ending

    def _watch(self, end: float) -> None:
        while not self._asked and time.monotonic() < end:
            self._look()
            time.sleep(TICK)

    def _look(self) -> None:
        if news := self._store.watch():
            self._tell(news)
        for part in self._parts:
            if news := part.watch():
                self._tell(news)
            if part.hopeless:
                raise DemoFailed(f"{part.name} ends again and again; see {part.log}")

    def _end(self) -> None:
        self._tell(f"ending; tasks may take {GRACE:g} s, Ctrl-C again ends at once")
        asked = self._asked
        for part in reversed(self._parts):
            part.end()
        if not self._gone(GRACE, asked + 1):
            for part in self._parts:
                part.end()
            self._gone(RELEASE, asked + 2)
        for part in self._parts:
            part.kill()
        self._once("the embedded server", python("django", "embedded", "stop"))
        self._tell("ended")

    def _gone(self, seconds: float, impatient: int) -> bool:
        """Wait for the processes to end. False when the time is over, or when as many signals came as `impatient`."""
        deadline = time.monotonic() + seconds
        while any(part.running for part in self._parts):
            if time.monotonic() > deadline or self._asked >= impatient:
                return False
            time.sleep(0.05)
        return True


def _answers(url: str) -> bool:
    """Whether the console shows its login page, where its first page leads."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - always http, made by Place
            return bool(answer.status == 200)
    except (OSError, urllib.error.HTTPError):
        return False


def directory(chosen: str | None, base: Path) -> Path:
    """The demo's directory: `var/demo` of the project, or the one that was asked for."""
    return Path(chosen).expanduser().absolute() if chosen else base / "var" / "demo"
