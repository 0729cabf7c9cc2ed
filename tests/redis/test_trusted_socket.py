"""Another user of this machine who poses as the embedded server: nothing is sent to that process."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from queueops.errors import EmbeddedFailed, QueueOpsError
from queueops.errors.refusals import EmbeddedNotTrusted
from queueops.redis import embedded
from queueops.redis.client_factory import connect
from queueops.redis.embedded import trusted_socket
from queueops.redis.embedded.trusted_socket import check_peer

STRANGER = 65534  # nobody
IS_ROOT = os.geteuid() == 0
POSER = """
import os, socket, sys
path, user, when = sys.argv[1], int(sys.argv[2]), sys.argv[3]
def become():
    if os.geteuid() == 0:
        os.setgid(user), os.setuid(user)
when == "first" and become()
os.umask(0)
os.path.isdir(os.path.dirname(path)) or os.mkdir(os.path.dirname(path), 0o777)
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
os.chmod(path, 0o700 if when == "late" else 0o777)
when == "late" and become()
listener.listen()
print("ready", flush=True)
while True:
    connection = listener.accept()[0]
    while heard := connection.recv(4096):
        print("heard", heard, flush=True)
        connection.sendall(b"+PONG\\r\\n")
"""


class Poser:
    """A process of another user that listens at a path, answers, and tells what it has heard."""

    def __init__(self, path: Path, when: str = "first") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", POSER, str(path), str(STRANGER), when], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def end(self) -> str:
        self._process.kill()
        return self._process.communicate()[0]


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder as /tmp is: all users may write there. (Those of pytest are made before.)"""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o1777)
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield folder


@pytest.fixture
def home(shared: Path, tmp_path: Path) -> Iterator[Path]:
    """A data directory whose path is too long for a socket."""
    directory = tmp_path / ("very" * 20) / ("deep" * 20)
    directory.mkdir(parents=True, mode=0o700)
    yield directory
    embedded.stop(directory)


@pytest.fixture
def pose(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Let another user listen. A test that is not run by root cannot become one: it takes itself for another."""
    if not IS_ROOT:
        other = os.geteuid() + 1
        monkeypatch.setattr(os, "geteuid", lambda: other)
    posers: list[Poser] = []
    yield lambda path, when="first": posers.append(Poser(path, when))
    assert [poser.end() for poser in posers] == [""] * len(posers)


def refused(home: Path) -> str:
    with connect(f"embedded:{home}") as client, pytest.raises(EmbeddedNotTrusted) as caught:
        client.ping()
    return str(caught.value)


def test_a_folder_of_another_user_is_refused(home: Path, pose: Callable[..., None]) -> None:
    pose(embedded.socket_path(home))
    text = refused(home)
    assert f"The embedded server in {home} is not trusted: the folder {embedded.socket_path(home).parent}" in text
    assert f"this process runs as {os.geteuid()}. Set TMPDIR to a folder of your own" in text
    with pytest.raises(CommandError, match="is not trusted"):
        call_command("embedded", "start", "--data", str(home), stdout=StringIO())


def test_a_folder_that_others_may_write_to_is_refused(home: Path, pose: Callable[..., None]) -> None:
    folder = embedded.socket_path(home).parent
    folder.mkdir()
    folder.chmod(0o777)
    pose(embedded.socket_path(home))
    text = refused(home)
    assert not IS_ROOT or f"{folder} is open to other users (mode 0777). Write: chmod 700 {folder}" in text


def test_a_socket_that_is_a_link_is_refused(home: Path, shared: Path, pose: Callable[..., None]) -> None:
    folder = embedded.socket_path(home).parent
    folder.mkdir(mode=0o700)
    pose(shared / "other.sock")
    embedded.socket_path(home).symlink_to(shared / "other.sock")
    text = refused(home)
    assert not IS_ROOT or "is a symbolic link. Remove it" in text


def test_a_folder_that_is_a_link_is_refused(home: Path, shared: Path, pose: Callable[..., None]) -> None:
    folder = embedded.socket_path(home).parent
    pose(shared / "theirs" / embedded.socket_path(home).name)
    folder.symlink_to(shared / "theirs")
    assert "is not a folder, or a symbolic link. Set TMPDIR" in refused(home)


def test_a_process_of_another_user_that_listens_on_a_socket_of_ours_is_refused(
    home: Path, pose: Callable[..., None]
) -> None:
    embedded.socket_path(home).parent.mkdir(mode=0o700)
    pose(embedded.socket_path(home), when="late")
    text = refused(home)
    assert not IS_ROOT or f"the process that listens there belongs to the user {STRANGER}" in text


def test_a_temporary_folder_where_others_may_replace_files_is_refused(home: Path, shared: Path) -> None:
    shared.chmod(0o777)
    assert "has no sticky bit. Set TMPDIR" in refused(home)
    shared.chmod(0o1777)
    with connect(f"embedded:{home}") as client:
        assert client.ping()


def test_a_data_directory_that_others_may_write_to_is_refused_until_it_is_closed(empty_directory: Path) -> None:
    empty_directory.mkdir()
    empty_directory.chmod(0o775)
    text = refused(empty_directory)
    assert f"{empty_directory} is open to other users (mode 0775). Write: chmod 700 {empty_directory}" in text
    empty_directory.chmod(0o755)
    with connect(f"embedded:{empty_directory}") as client:
        assert client.ping()
        for made in empty_directory.rglob("*"):
            assert made.name == ".gitignore" or made.stat().st_mode & 0o077 == 0, made


def test_each_connect_looks_again(empty_directory: Path) -> None:
    with connect(f"embedded:{empty_directory}") as client:
        assert client.ping()
        embedded.socket_path(empty_directory).chmod(0o777)
        client.connection_pool.disconnect()
        with pytest.raises(EmbeddedNotTrusted, match=r"mode 0777\). Write: chmod 700 .*valkey\.sock"):
            client.ping()
        embedded.socket_path(empty_directory).chmod(0o700)
        assert client.ping()


def test_the_kernel_tells_who_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        check_peer(ours, tmp_path)
        me = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: me + 1)
        if not IS_ROOT:  # root is trusted by all
            with pytest.raises(EmbeddedNotTrusted, match=f"belongs to the user {me}"):
                check_peer(ours, tmp_path)
        monkeypatch.delattr(socket, "SO_PEERCRED")  # a system that does not tell it
        check_peer(ours, tmp_path)


@pytest.fixture
def of_another_user(empty_directory: Path) -> Iterator[Path]:
    """A data directory that another user has made, as where /tmp/data is named in the URL before it is there."""
    empty_directory.mkdir(mode=0o700)
    if IS_ROOT:
        os.chown(empty_directory, STRANGER, STRANGER)
    me = os.geteuid()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: me + 12345)
        yield empty_directory


def test_nothing_is_written_through_a_link_in_a_data_directory_of_another_user(
    of_another_user: Path, tmp_path: Path
) -> None:
    (of_another_user / ".gitignore").symlink_to(tmp_path / "of ours")
    with pytest.raises(EmbeddedNotTrusted, match=r"the folder .* belongs to the user"):
        embedded.start(of_another_user)
    assert not (tmp_path / "of ours").exists()


@pytest.mark.parametrize("look", [embedded.stop, embedded.status])
def test_a_process_that_another_user_names_is_not_ended(
    of_another_user: Path, look: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append(pid))
    (of_another_user / "valkey.pid").write_text(f"{os.getpid()}")
    with (of_another_user / "server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(EmbeddedNotTrusted, match=r"the folder .* belongs to the user"):
            look(of_another_user)
    assert killed == []


def test_a_data_directory_is_checked_though_its_socket_is_elsewhere(home: Path) -> None:
    with connect(f"embedded:{home}") as client:
        assert client.ping()
        home.chmod(0o775)
        client.connection_pool.disconnect()
        with pytest.raises(EmbeddedNotTrusted, match=r"mode 0775"):
            client.ping()
        home.chmod(0o700)
        assert client.ping()


@pytest.mark.parametrize("planted", [".gitignore", "server.lock"])
def test_a_link_in_the_data_directory_is_not_followed(empty_directory: Path, tmp_path: Path, planted: str) -> None:
    """It may have been made while the folder was open to other users."""
    empty_directory.mkdir(mode=0o700)
    (empty_directory / planted).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EmbeddedFailed, match="is a symbolic link") if planted == "server.lock" else nullcontext():
        embedded.start(empty_directory)
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_behind_a_link_keeps_its_mode(empty_directory: Path, tmp_path: Path) -> None:
    empty_directory.mkdir(mode=0o700)
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    (empty_directory / "appendonlydir").symlink_to(tmp_path / "elsewhere")
    embedded.start(empty_directory)
    assert (tmp_path / "elsewhere").stat().st_mode & 0o777 == 0o755


def test_a_link_of_ours_to_the_data_directory_is_followed_and_one_of_another_user_is_not(
    empty_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty_directory.mkdir(mode=0o700)
    link = tmp_path / "link"
    link.symlink_to(empty_directory)
    with connect(f"embedded:{link}") as client:
        assert client.ping()
        embedded.stop(link)
    if IS_ROOT:
        os.chown(link, STRANGER, STRANGER, follow_symlinks=False)
    else:
        me = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert f"the symbolic link {link} belongs to the user" in refused(link)
    assert not embedded.socket_path(link).exists()


def test_a_redis_py_that_connects_in_another_way_is_refused(
    empty_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checks hang on a private method: without it, connections would be made unchecked."""

    class Renamed:
        """A connection class of a later version."""

    monkeypatch.setattr(trusted_socket, "UnixDomainSocketConnection", Renamed)
    with (
        connect(f"embedded:{empty_directory}") as client,
        pytest.raises(QueueOpsError, match=r"has no Renamed._connect"),
    ):
        client.ping()
