"""Store supervision of the demo: restarts the embedded server after a crash, and logs each restart."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from io import StringIO
from pathlib import Path

from django.core.management import CommandError, call_command

from queueops_demo.reserve import DemoFailed

EVERY = 1.0
"""Seconds between two checks."""


class Store:
    """The embedded server in a directory. Each restart is a line in the log."""

    def __init__(self, directory: Path, log: Path) -> None:
        self._directory = directory
        self._log = log
        self._pid: int | None = None
        self._due = 0.0

    def watch(self) -> str:
        """Restart the server after a crash; returns a line for the user, or nothing. Raises DemoFailed."""
        if time.monotonic() < self._due:
            return ""
        before = self._pid
        self._pid = self._found() or self._started()
        self._due = time.monotonic() + EVERY
        if before is None or before == self._pid:
            return ""
        news = f"the store (process {before}) died, and is started again (process {self._pid})"
        with self._log.open("a") as log:
            log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S%z')} {news}\n")
        return f"{news}; see {self._directory / 'valkey.log'}"

    def stop(self) -> None:
        """Stop the server; its data stays. Raises DemoFailed."""
        self._act("stop")

    def _found(self) -> int | None:
        return self._ask("status")

    def _started(self) -> int | None:
        return self._act("start")

    def _act(self, action: str) -> int | None:
        try:
            return self._ask(action)
        except CommandError as error:
            raise DemoFailed(str(error)) from error

    def _ask(self, action: str) -> int | None:
        """The process id of the server, from the management command; its exit status only says whether it answers."""
        out = StringIO()
        with suppress(SystemExit):
            call_command("embedded", action, "--json", data=str(self._directory), stdout=out)
        pid: int | None = json.loads(out.getvalue())["pid"]
        return pid
