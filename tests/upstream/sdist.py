"""Source distribution of Django, whose tests of `django.tasks` are run here. They are not kept in this repository.

`python -m tests.upstream.sdist` downloads it with pip.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "6.1.3"
FOLDER = Path(__file__).resolve().parents[2] / "var" / "upstream"
ARCHIVE = FOLDER / f"django-{VERSION}.tar.gz"
TESTS = f"django-{VERSION}/tests/tasks/"


def download() -> None:
    """Fetch the archive, when it is not there; one process at a time."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock, tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if ARCHIVE.exists():
            return
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "django"]
        subprocess.run([*command, "--ignore-requires-python", "--dest", folder, f"django=={VERSION}"], check=True)
        (found,) = Path(folder).glob("*.tar.gz")
        found.rename(ARCHIVE)


def modules() -> dict[str, str]:
    """The modules of Django's package `tests/tasks`, by name, as text."""
    with tarfile.open(ARCHIVE) as archive:
        found = {}
        for member in archive:
            if member.name.startswith(TESTS) and member.name.endswith(".py"):
                content = archive.extractfile(member)
                assert content is not None
                found[member.name.removeprefix(TESTS)] = content.read().decode()
        return found


if __name__ == "__main__":
    download()
