"""The console behind a real web server: processes, a database file and a store directory of the test's own."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.parse
from collections.abc import Sequence
from functools import cache
from http.cookies import SimpleCookie
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
PREPARE = """
import django
django.setup()
from django.core.management import call_command
from django.contrib.auth.models import User
call_command("migrate", interactive=False, verbosity=0)
User.objects.create_user("ada", password="correct horse")
"""
DEMO = ("-c", "python:queueops_demo.web")


class Answer(NamedTuple):
    """What the server said."""

    status: int
    headers: http.client.HTTPMessage
    text: str


class WebServer:
    """gunicorn with the console, and an account `ada` whose password is `correct horse`."""

    def __init__(
        self, directory: Path, options: Sequence[str] = DEMO, settings: str = "tests.settings", **own: str
    ) -> None:
        """Own variables of its environment, such as SCRIPT_NAME."""
        self.prefix = own.get("SCRIPT_NAME", "")
        self._log = directory / "web.log"
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        data = shutil.copytree(_prepared(settings), directory / "data")
        self.environment = environment = _environment(settings, data) | own
        command = [sys.executable, "-m", "gunicorn", *options, "-b", f"fd://{self._listener.fileno()}"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "console.project.wsgi"], env=environment, cwd=directory,
                stdout=log, stderr=log, pass_fds=[self._listener.fileno()],
            )  # fmt: skip

    def __enter__(self) -> Self:
        wait_until(self._answers, say=self.log)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.send_signal(signal.SIGQUIT)  # at once: requests may be held open
        self._process.wait(60)
        self._listener.close()

    def log(self) -> str:
        return self._log.read_text()

    def connect(self, timeout: float = 60) -> socket.socket:
        """A bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def ask(self, method: str, path: str, form: dict[str, str] | None = None, **headers: str) -> Answer:
        """One request on a connection of its own; a form is sent as a browser does it."""
        body = None if form is None else urllib.parse.urlencode(form)
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers | {"Connection": "close"})
            answer = connection.getresponse()
            return Answer(answer.status, answer.msg, answer.read().decode())
        finally:
            connection.close()

    def log_in(self, name: str, password: str, cookies: str = "") -> Answer:
        """Try to log in as a browser does, with the cookies of an earlier visit."""
        page = self.ask("GET", f"{self.prefix}/ops/login/", Cookie=cookies)
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        assert found, page.text
        together = "; ".join(filter(None, [cookies, cookies_of(page)]))
        form = {"username": name, "password": password, "csrfmiddlewaretoken": found[1]}
        return self.ask("POST", f"{self.prefix}/ops/login/", form, Cookie=together)

    def _answers(self) -> bool:
        assert self._process.poll() is None, self.log()
        try:
            return self.ask("GET", f"{self.prefix}/ops/login/").status == 200
        except OSError:
            return False


@cache
def _prepared(settings: str) -> Path:
    """A directory with a migrated database and the account: each server gets a copy of it."""
    made = Path(tempfile.mkdtemp(prefix="web-", dir=os.environ["QUEUEOPS_TESTS_DATA"]))
    subprocess.run([sys.executable, "-c", PREPARE], env=_environment(settings, made), cwd=made, check=True)
    return made


def _environment(settings: str, data: Path) -> dict[str, str]:
    """Of a process of the console that keeps its data in this directory."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    own = {"DJANGO_SETTINGS_MODULE": settings, "QUEUEOPS_TESTS_DATA": str(data), "PYTHONPATH": str(ROOT)}
    return environment | own


def cookies_of(answer: Answer, *names: str) -> str:
    """The cookies that an answer sets (or those of these names), as a browser sends them back."""
    jar = SimpleCookie()
    for line in answer.headers.get_all("Set-Cookie", []):
        jar.load(line)
    return "; ".join(f"{name}={cookie.value}" for name, cookie in jar.items() if not names or name in names)
