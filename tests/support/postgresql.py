"""A PostgreSQL server of the tests' own, in a new directory, on a Unix socket."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

OWNER = "postgres"
"""PostgreSQL refuses to run as root: the user of Debian's package runs it then."""


def programs() -> Path | None:
    """The directory of `initdb` and `pg_ctl`; Debian does not put them into PATH."""
    found = shutil.which("pg_ctl")
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda place: float(place.parts[-3]))
    return Path(found).parent if found else places[-1].parent if places else None


@contextmanager
def server() -> Iterator[dict[str, Any]]:
    """Run one in this block; gives Django's settings of its database. Without it, skip the test, except in CI."""
    found = programs()
    if found is None:
        stop = pytest.fail if os.environ.get("CI") else pytest.skip
        stop("PostgreSQL is not installed: apt-get install postgresql")
    directory = Path(tempfile.mkdtemp(prefix="queueops-pg-"))  # pytest's own may be closed to other users
    user = OWNER if os.geteuid() == 0 else None

    def run(program: str, *options: str) -> None:
        command = [found / program, "-D", directory / "data", *options]
        environment = {"LC_ALL": "C.UTF-8"}
        done = subprocess.run(command, user=user, cwd=directory, capture_output=True, text=True, env=environment)
        log = directory / "log"
        assert done.returncode == 0, done.stdout + done.stderr + (log.read_text() if log.exists() else "")

    try:
        if user:
            shutil.chown(directory, user)
        run("initdb", "-U", "tests", "-A", "trust", "--no-sync")
        run("pg_ctl", "start", "-w", "-l", str(directory / "log"), "-o", f"-k {directory} -c listen_addresses='' -F")
        try:
            yield {
                "ENGINE": "django.db.backends.postgresql",
                "NAME": "postgres",
                "USER": "tests",
                "HOST": str(directory),
            }
        finally:
            run("pg_ctl", "stop", "-w", "-m", "immediate")
    finally:
        shutil.rmtree(directory)
