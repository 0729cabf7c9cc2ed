"""Peer check of a Unix socket: a client connects to the embedded server only when its own user runs that server.

Before the connection, the owner and the mode of socket and folder are checked, and symbolic links are refused. After
it, the kernel reports the listening user (SO_PEERCRED). So a socket that was replaced between the two is found, too.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
import tempfile
from pathlib import Path
from typing import Any

from redis.connection import UnixDomainSocketConnection

from queueops.errors.refusals import EmbeddedNotTrusted
from queueops.redis.connections import expect_private

OTHERS_WRITE, OTHERS = 0o022, 0o077
ROOT = 0
ELSEWHERE = "Set TMPDIR to a folder of your own for all processes of the project, or choose a shorter path in URL"


class TrustedConnection(UnixDomainSocketConnection):
    """A connection to the server of the directory `home`, after checks on each connect. Raises EmbeddedNotTrusted."""

    def __init__(self, path: str, home: Path, **options: Any) -> None:
        expect_private(UnixDomainSocketConnection, "_connect")  # without it, the override below would check nothing
        super().__init__(path=path, **options)  # type: ignore[no-untyped-call]
        self.home = home

    def _connect(self) -> Any:
        """Connect. Also raises FileNotFoundError and ConnectionRefusedError: no server is running yet."""
        check_path(Path(self.path), self.home)
        connection = super()._connect()  # type: ignore[no-untyped-call]
        try:
            check_peer(connection, self.home)
        except BaseException:
            connection.close()
            raise
        return connection


def check_path(path: Path, home: Path) -> None:
    """Check the socket and its folder. Raises EmbeddedNotTrusted, and FileNotFoundError if one does not exist."""
    check_folder(path.parent, home)
    found = path.lstat()
    if not stat.S_ISSOCK(found.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a socket"
        raise EmbeddedNotTrusted(directory=home, reason=f"{path} is {what}. Remove it")
    _check_owner(f"the socket {path}", found.st_uid, home, f"Remove {path}")
    if stat.S_IMODE(found.st_mode) & OTHERS:
        _refuse_mode(path, found, home)


def check_folder(folder: Path, home: Path) -> None:
    """Check the data directory, and the folder of its socket if that is this user's folder in the temporary one."""
    check_home(home)
    if folder == home:
        return
    _check_temporary(folder.parent, home)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise EmbeddedNotTrusted(directory=home, reason=f"{folder} is not a folder, or a symbolic link. {ELSEWHERE}")
    _check_owner(f"the folder {folder}", found.st_uid, home, ELSEWHERE)
    if stat.S_IMODE(found.st_mode) & OTHERS:
        _refuse_mode(folder, found, home)


def check_home(home: Path) -> None:
    """Check the data directory before anything in it is read or written. A link to it must be owned by this user."""
    link, found = home.lstat(), home.stat()
    if stat.S_ISLNK(link.st_mode):
        _check_owner(f"the symbolic link {home}", link.st_uid, home, "Choose another directory in URL")
    _check_owner(f"the folder {home}", found.st_uid, home, "Choose another directory in URL")
    if stat.S_IMODE(found.st_mode) & OTHERS_WRITE:
        _refuse_mode(home, found, home)


def check_peer(connection: socket.socket, home: Path) -> None:
    """Ask the kernel which user listens at the other end. Raises EmbeddedNotTrusted."""
    user = _peer(connection)
    if user is not None:
        _check_owner("the process that listens there", user, home, "End it, or choose another directory in URL")


def _check_temporary(folder: Path, home: Path) -> None:
    """In a world-writable folder, the sticky bit keeps other users from replacing this user's files."""
    found = folder.stat()
    if found.st_mode & OTHERS_WRITE and not found.st_mode & stat.S_ISVTX:
        reason = f"other users may replace files in {folder}, which has no sticky bit. {ELSEWHERE}"
        raise EmbeddedNotTrusted(directory=home, reason=reason)


def _check_owner(what: str, user: int, home: Path, advice: str) -> None:
    """Root is trusted, and trusts the owner of the data directory, whose data it reads anyway."""
    me = os.geteuid()
    if user not in (me, ROOT) and not (me == ROOT and user == home.stat().st_uid):
        reason = f"{what} belongs to the user {user}, and this process runs as {me}. {advice}"
        raise EmbeddedNotTrusted(directory=home, reason=reason)


def _refuse_mode(path: Path, found: os.stat_result, home: Path) -> None:
    reason = f"{path} is open to other users (mode {stat.S_IMODE(found.st_mode):04o}). Write: chmod 700 {path}"
    raise EmbeddedNotTrusted(directory=home, reason=reason)


def _peer(connection: socket.socket) -> int | None:
    """The user who called listen() at the other end, or None if the system does not report it."""
    if hasattr(socket, "SO_PEERCRED"):
        size = struct.calcsize("iII")
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        return int(struct.unpack("iII", credentials)[1])  # process, user, group
    if hasattr(socket, "LOCAL_PEERCRED"):
        credentials = connection.getsockopt(0, socket.LOCAL_PEERCRED, struct.calcsize("IIh"))
        return int(struct.unpack("IIh", credentials)[1])  # version, user, number of groups
    return None


def temporary_folder() -> Path:
    """The folder for a socket whose path in the data directory would be too long."""
    return Path(tempfile.gettempdir()) / f"queueops-{os.geteuid()}"
