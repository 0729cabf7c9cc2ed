"""One process of the demo: started, watched, started again when it dies, ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import IO

from console.demo.place import python

HEALTHY_AFTER = 20.0
"""A process that lived this many seconds did not fail at its start."""
MAX_DEATHS = 5
MAX_DELAY = 10.0
LOG_LIMIT, LONGEST_LINE = 2 * 1024 * 1024, 64 * 1024
"""Bytes of a log, until a new one begins, and of what is read at once."""


class Part:
    """A command that shall run all the time. Its process leads a session of its own: a Ctrl-C reaches only us."""

    def __init__(
        self, name: str, command: Sequence[str], environment: Mapping[str, str], log: Path, files: Sequence[int] = ()
    ) -> None:
        self.name = name
        self.log = log
        self._command = [*python("console.demo.leash", str(os.getpid())), *command]
        self._environment = environment
        self._files = files
        self._process: subprocess.Popen[bytes] | None = None
        self._orphaned: list[int] = []
        self._born = 0.0
        self._due = 0.0
        self._deaths = 0

    @property
    def running(self) -> bool:
        """Whether its process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def hopeless(self) -> bool:
        """Whether it died at its start too often to be tried again."""
        return self._deaths >= MAX_DEATHS

    def start(self) -> None:
        """Start the process; what it writes goes to the log."""
        process = subprocess.Popen(  # noqa: S603 - our own command line
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=self._files,
            start_new_session=True,
        )
        self._process, self._born = process, time.monotonic()
        if process.stdout is not None:
            Drain(process.stdout, self.log).start()

    def watch(self) -> str:
        """Start the process again when it has died; what there is to tell, or nothing."""
        self._orphaned = [group for group in self._orphaned if _signal_group(group, 0)]
        if self.running or self.hopeless:
            return ""
        if self._process is not None:
            return self._bury(self._process)
        if time.monotonic() < self._due:
            return ""
        self.start()
        return f"{self.name} is started again"

    def end(self) -> None:
        """Ask the process to end; a worker that is asked twice gives its tasks back at once."""
        if self._process is not None and self.running:
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End what is left of it, also of processes that died before it: those may still be giving back their tasks."""
        for group in self._orphaned:
            _signal_group(group, signal.SIGKILL)
        if self._process is not None:
            _signal_group(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _bury(self, process: subprocess.Popen[bytes]) -> str:
        if _signal_group(process.pid, signal.SIGTERM):  # what it has started and left behind
            self._orphaned.append(process.pid)
        self._process = None
        lived = time.monotonic() - self._born
        self._deaths = 1 if lived > HEALTHY_AFTER else self._deaths + 1
        delay = min(MAX_DELAY, 0.25 * 2.0**self._deaths)
        self._due = time.monotonic() + delay
        return f"{self.name} ended with {process.returncode}; see {self.log}"


def _signal_group(pid: int, number: int) -> bool:
    """Whether there was a process to take the signal; 0 only asks."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


class Drain(Thread):
    """Writes what a process says into a file that does not grow without end.

    It reads a pipe to its end; above `limit` bytes the file becomes `<name>.1`, and a new one begins.
    """

    def __init__(self, pipe: IO[bytes], path: Path, limit: int = LOG_LIMIT) -> None:
        super().__init__(name=f"queueops-demo-{path.name}", daemon=True)
        self._pipe = pipe
        self._path = path
        self._limit = limit

    def run(self) -> None:
        """Copy line by line."""
        file = self._path.open("ab", buffering=0)
        try:
            while line := self._pipe.readline(LONGEST_LINE):
                if file.tell() + len(line) > self._limit:
                    file.close()
                    self._path.replace(self._path.with_name(f"{self._path.name}.1"))
                    file = self._path.open("ab", buffering=0)
                file.write(line)
        finally:
            file.close()
            self._pipe.close()
