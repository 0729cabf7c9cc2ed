"""A MariaDB server of the tests' own, in a new directory, on a Unix socket."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql
import pytest

from tests.support.waiting import wait_until

PLACES = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin"))
OWNER = "nobody"
"""The server does not run as root."""
NAME = "tests"


@contextmanager
def server() -> Iterator[dict[str, Any]]:
    """Run one in this block; gives Django's settings of its database. Without it, skip the test, except in CI."""
    programs = [shutil.which(name, path=PLACES) for name in ("mariadb-install-db", "mariadbd")]
    if None in programs or not shutil.which("my_print_defaults"):  # mariadb-install-db calls it
        stop = pytest.fail if os.environ.get("CI") else pytest.skip
        stop("MariaDB is not installed: apt-get install mariadb-server-core mariadb-client-core")
    pymysql.install_as_MySQLdb()
    directory = Path(tempfile.mkdtemp(prefix="queueops-my-"))  # the path of a socket is short
    user = OWNER if os.geteuid() == 0 else None
    try:
        if user:
            shutil.chown(directory, user)
        with _running(*programs, directory, user):
            yield _settings(directory)
    finally:
        shutil.rmtree(directory)


def _make(command: list[Any], directory: Path, own: dict[str, Any]) -> None:
    """Make the data. Among several at once, one of them failed now and then: each process waits for its turn."""
    with (Path(tempfile.gettempdir()) / f"queueops-my-{os.geteuid()}.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        for _ in range(3):
            made = subprocess.run(command, **own | {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}, text=True)
            if not made.returncode:
                return
            shutil.rmtree(directory / "data", ignore_errors=True)
    raise AssertionError(f"MariaDB makes no data: {made.stdout}")


@contextmanager
def _running(install: Any, program: Any, directory: Path, user: str | None) -> Iterator[None]:
    usual = ["--no-defaults", f"--datadir={directory / 'data'}"]
    own: dict[str, Any] = {"user": user, "cwd": directory, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    _make([install, *usual, "--auth-root-authentication-method=normal", "--skip-test-db"], directory, own)
    address = [f"--socket={directory / 'socket'}", "--skip-networking", f"--pid-file={directory / 'pid'}"]
    running = subprocess.Popen([program, *usual, *address], **own)
    try:
        wait_until(lambda: _listens(directory), 60)
        with pymysql.connect(unix_socket=str(directory / "socket"), user="root") as connection:
            connection.cursor().execute(f"CREATE DATABASE {NAME} CHARACTER SET utf8mb4")
        yield
    finally:
        running.terminate()
        running.wait(60)


def _listens(directory: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(directory / "socket")) == 0


def _settings(directory: Path) -> dict[str, Any]:
    options = {"unix_socket": str(directory / "socket"), "charset": "utf8mb4"}
    return {"ENGINE": "django.db.backends.mysql", "NAME": NAME, "USER": "root", "OPTIONS": options}
