"""Life of the embedded server: starts and stops a Valkey that all processes of a project share, in its directory.

It listens on a Unix socket only, writes an append-only file, evicts nothing, and outlives the process that started it.

One file lock decides who may start it, and shows whether it runs. The starter takes the lock and passes it to the
server. The kernel releases it at the server's end, whatever the cause. So a stale pid or socket file does not mislead a
client.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from queueops.errors import EmbeddedFailed
from queueops.redis.connections import DRIVER
from queueops.redis.embedded.program import find_server
from queueops.redis.embedded.trusted_socket import TrustedConnection, check_folder, check_home, temporary_folder

START_SECONDS = 60.0  # reading a large append-only file takes a while
STOP_SECONDS = 20.0
ANSWER_SECONDS = 10.0
LOG_BYTES = 4 * 1024 * 1024
SOCKET_BYTES = 100  # the kernel takes 107, macOS 103
PRIVATE = 0o077  # the server's files hold the arguments of tasks
NEVER = Retry(NoBackoff(), 0)

CONFIG = {
    "port": "0",
    "unixsocketperm": "700",
    "daemonize": "yes",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": "",
    "maxmemory-policy": "noeviction",
    "hash-max-ziplist-value": "256",  # a record's arguments stay in the compact encoding; a name that Redis 6.2 knows
    "pidfile": "valkey.pid",
    "logfile": "valkey.log",
}
ENVIRONMENT = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=500"}
"""Keeps memory that scripts free in the allocator: saves nearly a tenth of the server's time in a drain.

The environment's own value has precedence. Other C libraries ignore it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The status of an embedded server. `pid` is 0 if it does not run."""

    directory: Path
    socket: Path
    pid: int
    answers: bool

    @property
    def running(self) -> bool:
        """Whether the process exists; `answers` is False while it reads its data or hangs."""
        return self.pid != 0

    @property
    def url(self) -> str:
        """The address for any Redis client; unlike `embedded:` it never starts a server."""
        return f"unix://{self.socket}"


def status(directory: Path | str) -> Server:
    """Read the status of a directory's server; changes nothing."""
    home = Path(directory).absolute()
    socket = socket_path(home)
    pid = _pid(home) if _held(home) else 0
    return Server(directory=home, socket=socket, pid=pid, answers=pid != 0 and _answers(home))


def ask(directory: Path | str, *words: str) -> Any:
    """The answer of the running server to a command. Raises EmbeddedFailed."""
    home = Path(directory).absolute()
    with _client(home, ANSWER_SECONDS, decode_responses=True, encoding_errors="backslashreplace") as client:
        try:
            return client.execute_command(*words)
        except redis.RedisError as error:
            reason = "it does not run, see: manage.py embedded start" if not _held(home) else str(error)
            raise EmbeddedFailed(directory=home, verb="answer", reason=reason) from error


def start(directory: Path | str, *, timeout: float = START_SECONDS, options: Mapping[str, str] | None = None) -> Server:
    """Start the server of a directory, or find the running one; return as soon as it answers.

    `options` are further lines of its configuration, for a server that is started now. Any number of processes may call
    this at the same time: one starts it, and all get the same server. Raises EmbeddedFailed.
    """
    home = Path(directory).absolute()
    _make_home(home)
    deadline = time.monotonic() + timeout
    launched = False
    while time.monotonic() < deadline:
        with _lock(home) as lock:
            if lock is not None and launched:
                raise EmbeddedFailed(directory=home, verb="start", reason=_last_words(home))
            if lock is not None:
                _launch(home, lock, options or {})
                launched = True
        if _answers(home):
            return status(home)
        time.sleep(0.02)
    reason = f"the process {_pid(home)} is there but does not answer for {timeout:g} s. {_last_words(home)}"
    raise EmbeddedFailed(directory=home, verb="start", reason=reason)


def stop(directory: Path | str, *, timeout: float = STOP_SECONDS) -> bool:
    """Stop the server of a directory; its data stays. False if none ran. Killed if it does not end in time.

    Raises EmbeddedFailed, also if another process has started a new server meanwhile; that server continues.
    """
    home = Path(directory).absolute()
    if not _held(home):
        return False
    first = 0
    for send, patience in ((signal.SIGTERM, timeout), (signal.SIGKILL, 5.0)):
        first = first or _awaited_pid(home, patience)
        if first:
            with suppress(ProcessLookupError):
                os.kill(first, send)
        if _gone(home, patience, first):
            return True
        if first and _pid(home) not in (0, first):
            reason = (
                f"it ended, but a process that needs it has started it again (process {_pid(home)})."
                " End the workers, watchdogs and web servers of the project first."
            )
            raise EmbeddedFailed(directory=home, verb="stay ended", reason=reason)
    raise EmbeddedFailed(directory=home, verb="stop", reason=f"its process {_pid(home) or '?'} does not end")


def socket_path(home: Path) -> Path:
    """The socket of a directory's server: in the directory, or in the temporary one if that path is too long."""
    inside = home / "valkey.sock"
    if len(os.fsencode(inside)) <= SOCKET_BYTES:
        return inside
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:20]
    return temporary_folder() / f"{digest}.sock"


def _make_home(home: Path) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        check_home(home)
        folder = socket_path(home).parent
        folder.mkdir(exist_ok=True, mode=0o700)
        check_folder(folder, home)
        with suppress(FileExistsError), (home / ".gitignore").open("x") as ignored:  # follows no symbolic link
            ignored.write("*\n")  # the folder is in the project by default, and holds the arguments of tasks
    except OSError as error:
        raise EmbeddedFailed(directory=home, verb="start", reason=str(error)) from error


@contextmanager
def _lock(home: Path, mode: int = fcntl.LOCK_EX) -> Iterator[int | None]:
    """The lock's file descriptor if it was free, else None. A server that inherits it keeps the lock."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(home / "server.lock", flags, 0o600)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        reason = f"{home / 'server.lock'} is a symbolic link. Remove it"
        raise EmbeddedFailed(directory=home, verb="start", reason=reason) from error
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _held(home: Path) -> bool:
    """Whether a server, or its starter, exists. The check takes a shared lock, so that two checks do not meet.

    Raises EmbeddedNotTrusted: another user's pid file would name a process of this user.
    """
    if not (home / "server.lock").exists():
        return False
    check_home(home)
    with _lock(home, fcntl.LOCK_SH) as lock:
        return lock is None


def _launch(home: Path, lock: int, options: Mapping[str, str]) -> None:
    (home / "valkey.pid").unlink(missing_ok=True)
    socket_path(home).unlink(missing_ok=True)
    binary = find_server(home)
    _rotate(home / "valkey.log")
    _close_to_others(home)
    chosen = CONFIG | {"dir": str(home), "unixsocket": str(socket_path(home))} | dict(options)
    config = "".join(f"{name} {_quoted(value)}\n" for name, value in chosen.items())
    done = subprocess.run(  # noqa: S603 - the binary is ours, and no shell reads the text
        [binary, "-"],
        input=config.encode(),
        cwd=home,
        env=ENVIRONMENT | os.environ,
        pass_fds=[lock],
        umask=PRIVATE,
        capture_output=True,
        check=False,
        timeout=START_SECONDS,
    )
    if done.returncode:
        reason = (done.stderr + done.stdout).decode(errors="replace").strip()[-500:]
        raise EmbeddedFailed(directory=home, verb="start", reason=reason or f"{binary} ended with {done.returncode}")


def _close_to_others(home: Path) -> None:
    """Restrict the file modes of an older version's server: other users may be able to read its files."""
    for path, mode in ((home / "appendonlydir", 0o700), *((log, 0o600) for log in home.glob("valkey.log*"))):
        if path.exists() and not path.is_symlink():
            path.chmod(mode)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _rotate(log: Path) -> None:
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))


def _client(home: Path, timeout: float, **options: Any) -> redis.Redis:
    pool = redis.ConnectionPool(
        connection_class=TrustedConnection,
        path=str(socket_path(home)),
        home=home,
        socket_timeout=timeout,
        protocol=2,
        retry=NEVER,
        **options,
        **DRIVER,
    )
    return redis.Redis.from_pool(pool)


def _answers(home: Path) -> bool:
    with _client(home, 2) as client:
        try:
            return bool(client.ping())
        except redis.exceptions.BusyLoadingError:
            return False
        except redis.exceptions.ResponseError:
            return True  # BUSY in a script, for example: the server is there, and its caller must wait
        except (redis.exceptions.RedisError, OSError):
            return False


def _pid(home: Path) -> int:
    """The pid in the server's own pid file, valid only while the lock is held; 0 until it is written."""
    try:
        return max(0, int((home / "valkey.pid").read_text()))
    except (OSError, ValueError):
        return 0


def _awaited_pid(home: Path, seconds: float) -> int:
    """The process of a server that may still be starting. 0 if it has ended, or does not report in time."""
    deadline = time.monotonic() + seconds
    while not (pid := _pid(home)) and _held(home) and time.monotonic() < deadline:
        time.sleep(0.02)
    return pid


def _gone(home: Path, seconds: float, pid: int) -> bool:
    """Whether the server has ended in time; False at once if another server runs in its place."""
    deadline = time.monotonic() + seconds
    while _held(home):
        if time.monotonic() > deadline or (pid and _pid(home) not in (0, pid)):
            return False
        time.sleep(0.02)
    return True


def _last_words(home: Path) -> str:
    """The last lines of the server's log."""
    try:
        lines = (home / "valkey.log").read_text(errors="replace").splitlines()
    except OSError:
        return "It wrote no log."
    return "Its log ends with: " + " / ".join(lines[-3:])
