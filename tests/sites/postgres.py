"""A PostgreSQL server of the test's own, which listens on a socket in a folder."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.waiting import wait_until

PLACES = os.pathsep.join(
    [*map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"))), os.environ.get("PATH", os.defpath)]
)


def is_there() -> bool:
    """Whether this machine has PostgreSQL, and a user who may run it: it refuses root."""
    try:
        return bool(shutil.which("initdb", path=PLACES) and pwd.getpwnam(_user()))
    except KeyError:
        return False


def _user() -> str:
    return "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name


@contextmanager
def postgres() -> Iterator[dict[str, Any]]:
    """Start it; gives Django's settings of its database, and ends it."""
    folder, user = tempfile.mkdtemp(prefix="postgres-", dir="/tmp"), _user()  # the path of a socket is short
    shutil.chown(folder, user)
    programs = Path(str(shutil.which("initdb", path=PLACES))).parent
    own: dict[str, Any] = {"cwd": folder, "user": user if os.geteuid() == 0 else None, "stdout": subprocess.DEVNULL}
    try:
        subprocess.run([programs / "initdb", "-D", "data", "-A", "trust", "-U", "site", "--no-sync"], check=True, **own)
        options = ["-D", "data", "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
        server = subprocess.Popen([programs / "postgres", *options], stderr=subprocess.DEVNULL, **own)
        ready = [programs / "pg_isready", "-h", folder]
        try:
            wait_until(lambda: subprocess.run(ready, stdout=subprocess.DEVNULL).returncode == 0)
            yield {"ENGINE": "django.db.backends.postgresql", "NAME": "postgres", "USER": "site", "HOST": folder}
        finally:
            server.terminate()
            server.wait(60)
    finally:
        shutil.rmtree(folder)
