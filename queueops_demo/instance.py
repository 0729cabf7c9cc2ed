"""Demo instance: its directory, its address, and the environment of its processes."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import console
from console.project import packages

WILDCARDS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - known, not bound to
SETTINGS = "queueops_demo.settings"
NOT_OURS = ("QUEUEOPS_URL", "QUEUEOPS_ENV", "QUEUEOPS_DATABASE_URL", "QUEUEOPS_BEHIND_PROXY")
"""A demo uses its own store and database, not those of the project."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One demo: its directory, and the host and port of its console."""

    data: Path
    host: str
    port: int

    @property
    def url(self) -> str:
        """The console's URL, for a browser on this machine."""
        return f"{self._base}/ops/"

    @property
    def api(self) -> str:
        """The URL of its HTTP API of jobs."""
        return f"{self._base}/api/v1/"

    @property
    def _base(self) -> str:
        host = WILDCARDS.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def terminal(self) -> str:
        """A shell command that shows this demo's status."""
        where = f"QUEUEOPS_DATA={shlex.quote(str(self.data))} DJANGO_SETTINGS_MODULE={SETTINGS}"
        return f"{where} {shlex.quote(sys.executable)} manage.py queue status"

    @property
    def store(self) -> Path:
        """The directory of the embedded server."""
        return self.data / "queueops"

    def log(self, name: str) -> Path:
        """The log file of a process of the demo."""
        return self.data / f"{name}.log"

    def environment(self) -> dict[str, str]:
        """The environment of the demo's processes: the stand-alone project, with its data in this directory."""
        mine = {name: value for name, value in os.environ.items() if name not in NOT_OURS}
        paths = [str(Path(console.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        return mine | {
            "DJANGO_SETTINGS_MODULE": SETTINGS,
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONUNBUFFERED": "1",
            "QUEUEOPS_DATA": str(self.data),
            "QUEUEOPS_API": "0" if packages.missing(packages.API) else "1",
            "QUEUEOPS_DEBUG": "0",
            "QUEUEOPS_HOSTS": ",".join(self._hosts()),
            "QUEUEOPS_DEMO_URL": self.url,
        }

    def _hosts(self) -> list[str]:
        """The allowed host names: any name if the console listens on all interfaces."""
        if self.host in WILDCARDS:
            return ["*"]
        own = [f"[{self.host}]" if ":" in self.host else self.host, "localhost", "127.0.0.1", "[::1]"]
        return list(dict.fromkeys([*own, *filter(None, os.environ.get("QUEUEOPS_HOSTS", "").split(","))]))


def python(*arguments: str) -> list[str]:
    """The command line that runs a Python module."""
    return [sys.executable, "-m", *arguments]
