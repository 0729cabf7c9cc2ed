"""What the stand-alone project, the demo and the embedded server keep is for the eyes of their own user."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from console.project.environment import private_folder
from queueops.redis import embedded
from queueops_demo.instance import Instance
from queueops_demo.prepare import password
from queueops_demo.reserve import reserve

ROOT = Path(__file__).parents[2]
ENTER = "from django.db import connection; connection.cursor().execute('CREATE TABLE x (y)')"


def manage(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of the stand-alone project, started by a user whose new files all may read."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("QUEUEOPS_", "DJANGO_"))}
    return subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *arguments],
        env=clean | {"QUEUEOPS_DATA": str(directory)}, umask=0, capture_output=True, text=True, check=False,
    )  # fmt: skip


def open_to_others(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.stat().st_mode & 0o077)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture
def usual_umask() -> Iterator[None]:
    """New files of this process are readable by all users, where the code does not say otherwise."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_a_new_folder_and_the_database_in_it_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    beside = "import pathlib; print(*(oct(p.stat().st_mode & 0o77) for p in pathlib.Path(%r).glob('db.sqlite3*')))"
    done = manage(folder, "shell", "-v", "0", "-c", f"{ENTER}; {beside % str(folder)}")
    assert (done.returncode, done.stdout) == (0, "0o0 0o0 0o0\n"), done.stderr  # the database, its log and its index
    assert (mode(folder), mode(folder / "db.sqlite3"), mode(folder / "secret_key")) == (0o700, 0o600, 0o600)


def test_a_folder_that_others_can_read_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(0o755)
    done = manage(folder, "check")
    assert done.returncode != 0
    assert (
        f"Other users of this machine can enter {folder} (mode 0755), where the project keeps its database and keys. "
        f"Write: chmod 700 {folder} - or name a folder that is not there yet."
    ) in done.stderr
    assert list(folder.iterdir()) == []
    folder.chmod(0o700)
    assert manage(folder, "check").returncode == 0


def test_the_database_of_an_earlier_version_is_closed_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    for name in ("db.sqlite3", "db.sqlite3-wal", "db.sqlite3-shm"):
        (folder / name).touch()
        (folder / name).chmod(0o644)
    assert manage(folder, "check").returncode == 0
    assert open_to_others(folder) == []


def test_the_projects_own_folder_of_an_earlier_version_is_closed_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "var"
    folder.mkdir()
    folder.chmod(0o755)
    private_folder(folder, ours=True)
    assert mode(folder) == 0o700


def test_the_demo_refuses_a_folder_that_others_can_read(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as taken:  # a demo that did not refuse the folder would end here
        port = str(taken.getsockname()[1])
        with pytest.raises(CommandError, match=f"can enter {tmp_path} .* Write: chmod 700 {tmp_path}"):
            call_command("demo", "--data", str(tmp_path), "--port", port, stdout=StringIO())
    assert list(tmp_path.iterdir()) == []


def test_the_password_and_the_lock_of_the_demo_are_private(tmp_path: Path, usual_umask: None) -> None:
    assert password(tmp_path) == password(tmp_path) != ""
    reserve(Instance(host="127.0.0.1", port=0, data=tmp_path / "data")).close()
    assert mode(tmp_path / "password") == mode(tmp_path / "data" / "demo.lock") == 0o600


def test_a_new_folder_of_the_embedded_server_is_private(empty_directory: Path, usual_umask: None) -> None:
    embedded.start(empty_directory)
    assert mode(empty_directory) == 0o700


def test_the_embedded_server_closes_its_files_in_a_folder_that_others_can_read(empty_directory: Path) -> None:
    empty_directory.mkdir()
    empty_directory.chmod(0o755)
    embedded.start(empty_directory)
    embedded.stop(empty_directory)
    kept = empty_directory / "appendonlydir"
    for path in (kept, *kept.iterdir(), empty_directory / "valkey.log"):
        path.chmod(0o755)  # as an earlier version left them
    embedded.start(empty_directory)
    assert [name for name in open_to_others(empty_directory) if "/" not in name] == [".gitignore"]
