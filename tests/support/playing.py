"""A demo that a test has started: its lines, its address, its processes."""

from __future__ import annotations

import http.cookiejar
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from contextlib import suppress
from pathlib import Path

import psutil

from queueops.redis import embedded

MANAGE = Path(__file__).parents[2] / "manage.py"
LINES = re.compile(
    r"Console: (http://127\.0\.0\.1:\d+/ops/)\nUser: (\S+)\nPassword: (\S+)\n"
    r"API: (http://127\.0\.0\.1:\d+/api/v1/docs)\nToken: (\S+)\nTerminal: (.* manage\.py queue status)\n"
)


class Playing:
    """`manage.py demo` as a process, with the data in a directory of the test."""

    def __init__(self, data: Path, *options: str, port: int = 0) -> None:
        self.data = data
        descriptor, self._news = tempfile.mkstemp(dir=data.parent, prefix="stderr-")
        self.process = subprocess.Popen(
            [sys.executable, str(MANAGE), "demo", "--port", str(port), "--data", str(data), *options],
            stdout=subprocess.PIPE,
            stderr=descriptor,
            text=True,
        )
        os.close(descriptor)
        self.url = self.user = self.password = self.api = self.token = self._terminal = ""

    def introduce(self) -> None:
        """Read the six lines that it prints when its page answers."""
        assert self.process.stdout is not None
        said = "".join(self.process.stdout.readline() for _ in range(6))
        found = LINES.fullmatch(said)
        assert found, f"it said {said!r}; {self.news()}"
        self.url, self.user, self.password, self.api, self.token, self._terminal = found.groups()

    def terminal(self) -> str:
        """What its last line answers in a shell."""
        found = subprocess.run(
            self._terminal, shell=True, cwd=MANAGE.parent, capture_output=True, text=True, timeout=300
        )
        assert found.returncode in (0, 1), found.stderr  # 1: there is an alarm
        return found.stdout

    def news(self) -> str:
        """What it has written to stderr."""
        return Path(self._news).read_text()

    def wait(self, seconds: float = 120.0) -> int:
        """Its exit status."""
        status = self.process.wait(seconds)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return status

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def clear(self) -> None:
        """At the end of a test, however it ended: nothing of it is left."""
        if self.process.poll() is None:
            self.process.kill()
            self.wait()
        for process in self.processes():
            process.kill()
        embedded.stop(self.data / "queueops")

    def processes(self, name: str = "") -> list[psutil.Process]:
        """The Python processes of this demo; with a name, those whose command line has it.

        Not the embedded server, which may outlive it.
        """
        found = []
        for process in psutil.process_iter():
            try:
                mine = process.environ().get("QUEUEOPS_DATA") == str(self.data) and process.pid != os.getpid()
                words = " ".join(process.cmdline())
                if mine and process.status() != psutil.STATUS_ZOMBIE and name in words and "valkey-server" not in words:
                    found.append(process)
            except (psutil.Error, OSError):
                continue  # it ended, or it belongs to another user
        return found

    def left(self) -> list[str]:
        """What runs of this demo, in words."""
        server = embedded.status(self.data / "queueops")
        names = []
        for process in self.processes():
            with suppress(psutil.Error):  # it has ended since
                names.append(f"{process.pid}: {' '.join(process.cmdline())[:100]}")
        return [*names, *(["the server"] if server.running else [])]

    def server_url(self) -> str:
        """The address of its server, for this process; asking it starts no server."""
        return embedded.status(self.data / "queueops").url


class Visitor:
    """A browser, as far as a test needs one: it keeps cookies and sends forms."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._jar = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._jar))

    def get(self, path: str = "") -> tuple[int, str]:
        """Status and text of a page, where it leads in the end."""
        return self._open(urllib.parse.urljoin(self._base, path))

    def post(self, path: str, **fields: str) -> tuple[int, str]:
        """Send a form."""
        token = next((cookie.value for cookie in self._jar if cookie.name == "csrftoken"), "")
        data = urllib.parse.urlencode({"csrfmiddlewaretoken": token or "", **fields}).encode()
        return self._open(urllib.parse.urljoin(self._base, path), data)

    def _open(self, url: str, data: bytes | None = None) -> tuple[int, str]:
        try:
            with self._opener.open(urllib.request.Request(url, data, {"Referer": url}), timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
