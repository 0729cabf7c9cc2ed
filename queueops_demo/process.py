"""Supervised process of the demo: started, restarted with back-off after a crash, ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import IO

from queueops_demo.instance import python

HEALTHY_AFTER = 20.0
"""A process that ran for this many seconds did not fail at its start."""
MAX_DEATHS = 5
MAX_DELAY = 10.0
LOG_LIMIT, LONGEST_LINE = 2 * 1024 * 1024, 64 * 1024
"""Bytes of a log, until a new one begins, and of what is read at once."""


class Process:
    """A command that runs until `end()`. Its process leads its own session, so Ctrl-C reaches only the launcher."""

    def __init__(
        self, name: str, command: Sequence[str], environment: Mapping[str, str], log: Path, files: Sequence[int] = ()
    ) -> None:
        self.name = name
        self.log = log
        self._command = [*python("queueops_demo.run_with_parent", str(os.getpid())), *command]
        self._environment = environment
        self._files = files
        self._process: subprocess.Popen[bytes] | None = None
        self._orphaned: list[int] = []
        self._born = 0.0
        self._due = 0.0
        self._deaths = 0

    @property
    def running(self) -> bool:
        """Whether the process is running."""
        return self._process is not None and self._process.poll() is None

    @property
    def hopeless(self) -> bool:
        """Whether the process crashed too often soon after its start."""
        return self._deaths >= MAX_DEATHS

    def start(self) -> None:
        """Start the process; its output goes to the log."""
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
        """Restart the process after a crash; returns a line for the user, or nothing."""
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
        """Send SIGTERM; a worker that gets it twice releases its tasks at once."""
        if self._process is not None and self.running:
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill its process groups, also those of earlier crashes: these may still be releasing their tasks."""
        for group in self._orphaned:
            _signal_group(group, signal.SIGKILL)
        if self._process is not None:
            _signal_group(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _bury(self, process: subprocess.Popen[bytes]) -> str:
        if _signal_group(process.pid, signal.SIGTERM):  # child processes that it left
            self._orphaned.append(process.pid)
        self._process = None
        lived = time.monotonic() - self._born
        self._deaths = 1 if lived > HEALTHY_AFTER else self._deaths + 1
        delay = min(MAX_DELAY, 0.25 * 2.0**self._deaths)
        self._due = time.monotonic() + delay
        return f"{self.name} ended with {process.returncode}; see {self.log}"


def _signal_group(pid: int, number: int) -> bool:
    """Send a signal to a process group; returns whether the group exists. Signal 0 only checks."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


class Drain(Thread):
    """Log file of a process, of limited size.

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
