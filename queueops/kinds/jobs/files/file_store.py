"""File store: names of downloaded files, partial files on this machine, and their publication in Django's storage.

A partial file stays after an attempt that failed on the way, so that the next one on this machine can go on. A file is
published as a whole: it is renamed within a storage of the file system, and saved in one call in any other.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, cast

from django.core.files import File
from django.core.files.storage import FileSystemStorage, Storage, default_storage, storages

from queueops.errors import BadOption
from queueops.kinds.jobs.files.s3_buckets import bucket_of, name_of, storage_of

PART_OF_PATH = re.compile(r"(?!\.{1,2}\Z)[^\x00-\x1f\x7f/\\:*?\"<>|]{1,100}")
LONGEST_SUBPATH = 400
PLAIN_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{2,99}")
TEMPORARY = re.compile(r"\.(?P<name>.+)\.[0-9]+-[0-9]+\.tmp")
SAVE = "_save"  # what a subclass replaces that stores in its own way, such as encrypted
MOST_IN_MEMORY = 65_536  # bytes of a body that is not written to the disk before it is published
NOWHERE = Path()  # of a body in memory
STALE = 86_400.0  # seconds after which a partial file is deleted


def file_name(id: str, subpath: str = "") -> str:
    """The name of a job's file in the storage: `<subpath>/<shard>/<id>`. An id with other characters is hashed."""
    name = _own_name(id)
    return "/".join(part for part in (check_subpath(subpath), shards_of(name)[0], name) if part)


def shards_of(name: str) -> tuple[str, str]:
    """The directory of a file, one of 4,096; and that of files of earlier versions, the beginning of the name."""
    return sha256(name.encode()).hexdigest()[:3], name[:3]


def is_file_of(path: str, id: str) -> bool:
    """Whether a name in the storage is one of the file of a job. A storage may have added something to the name."""
    name, (directory, _, found) = _own_name(id), path.rpartition("/")
    is_in_shard = directory.rpartition("/")[2] in shards_of(name)
    return bool(id) and is_in_shard and found.startswith(name)


def is_temporary(path: str) -> bool:
    """Whether a file is one that was being published. Its process may have ended before it was renamed."""
    return TEMPORARY.fullmatch(path.rpartition("/")[2]) is not None


def _own_name(id: str) -> str:
    return id if PLAIN_ID.fullmatch(id) else f"={sha256(id.encode()).hexdigest()}"


def check_subpath(subpath: object) -> str:
    """The same text, if it is a path below the storage. Raises BadOption."""
    if subpath == "":
        return ""
    expected = "a relative path without '..', such as 'shops/7'"
    if not isinstance(subpath, str) or len(subpath) > LONGEST_SUBPATH:
        raise BadOption(name="subpath", value=subpath, expected=expected)
    if not all(PART_OF_PATH.fullmatch(part) for part in subpath.split("/")):
        raise BadOption(name="subpath", value=subpath, expected=expected)
    return subpath


@dataclass(frozen=True, slots=True)
class Origin:
    """Which representation a partial file is the beginning of: it is continued only from the same one."""

    url: str
    validator: str  # a strong ETag, or the time of the last change
    total: int  # bytes of the whole
    source: str  # the address that the redirects led to


class PartialFile:
    """A file that is being downloaded. Only one attempt at a time has it."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self.file = path, file

    @property
    def size(self) -> int:
        """Bytes that are there."""
        self.file.flush()
        return os.fstat(self.file.fileno()).st_size

    def write(self, piece: bytes) -> None:
        """Add a piece of the body at the place of `file`."""
        self.file.write(piece)

    def origin(self) -> Origin | None:
        """What its bytes come from; None if they cannot be continued."""
        try:
            found = json.loads(self._note.read_text())
            return Origin(str(found["url"]), str(found["validator"]), int(found["total"]), str(found["source"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def begin(self, origin: Origin | None) -> None:
        """Empty it, and note what its bytes will come from."""
        self._note.unlink(missing_ok=True)
        self.file.seek(0)
        self.file.truncate()
        if origin:
            self._note.write_text(json.dumps(asdict(origin)))

    def discard(self) -> None:
        """Delete it."""
        self._note.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)

    @property
    def _note(self) -> Path:
        return self.path.with_suffix(".note")


class PartInMemory(PartialFile):
    """The beginning of a body, in memory. It goes to the disk when it grows, or if another attempt can continue it."""

    def __init__(self, id: str, directory: Path | None) -> None:
        super().__init__(NOWHERE, BytesIO())
        self._id, self._directory = id, directory
        self._origin: Origin | None = None
        self._on_disk = contextlib.ExitStack()
        self._disk: PartialFile | None = None

    @property
    def content(self) -> bytes | None:
        """All of it; None if it is on the disk."""
        return cast("BytesIO", self.file).getvalue() if self._disk is None else None

    @property
    def size(self) -> int:
        """Bytes that are there."""
        return len(cast("BytesIO", self.file).getbuffer()) if self._disk is None else self._disk.size

    def write(self, piece: bytes) -> None:
        """Add a piece of the body at the place of `file`."""
        if self._disk is None and self.size + len(piece) > MOST_IN_MEMORY:
            self._go_to_disk()
        self.file.write(piece)

    def origin(self) -> Origin | None:
        """What its bytes come from; None if they cannot be continued."""
        return self._origin

    def begin(self, origin: Origin | None) -> None:
        """Empty it, and note what its bytes will come from."""
        self._origin = origin
        if self._disk is not None:
            return self._disk.begin(origin)
        self.file.seek(0)
        self.file.truncate()

    def discard(self) -> None:
        """Delete it."""
        if self._disk is not None:
            self._disk.discard()
        else:
            self.begin(None)

    def close(self) -> None:
        """End it. What another attempt can continue is on the disk then."""
        try:
            if self._disk is None and self._origin is not None and self.size:
                self._go_to_disk()
        finally:
            self._on_disk.close()

    def _go_to_disk(self) -> None:
        content = cast("BytesIO", self.file).getvalue()
        self._disk = self._on_disk.enter_context(partial_file(self._id, self._directory))
        self._disk.begin(self._origin)
        self._disk.write(content)
        self.path, self.file = self._disk.path, self._disk.file


@contextlib.contextmanager
def part_of(id: str, directory: Path | None = None) -> Iterator[PartialFile]:
    """What an earlier attempt of a job has left on this machine, or else a part in memory."""
    _delete_stale(home := _home(directory))
    if os.path.exists(_partial_name(home, id)):  # noqa: PTH110 - for each download
        with partial_file(id, directory) as left:
            yield left
        return
    part = PartInMemory(id, directory)
    try:
        yield part
    finally:
        part.close()


def _home(directory: Path | None) -> Path:
    return directory or _temporary_home(tempfile.gettempdir(), os.getuid())


@lru_cache(maxsize=8)
def _temporary_home(directory: str, user: int) -> Path:
    return Path(directory) / f"queueops-jobs-{user}"


def _partial_name(home: Path, id: str) -> str:
    return f"{home}/{sha256(id.encode()).hexdigest()}.part"


@contextlib.contextmanager
def partial_file(id: str, directory: Path | None = None) -> Iterator[PartialFile]:
    """The partial file of a job. Another attempt of the same job, which still runs here, keeps the usual one."""
    home = _own_directory(_home(directory))
    _delete_stale(home)
    path = Path(_partial_name(home, id))
    part = _locked(path) or _locked(path.with_stem(f"{path.stem}-{os.getpid()}-{time.monotonic_ns()}"))
    if part is None:
        raise OSError(f"{path} is locked")
    try:
        yield part
    finally:
        if not part.size and _is_at(part.file.fileno(), part.path):  # there is nothing to go on with
            part.discard()
        part.file.close()  # the lock ends with it


def publish(part: PartialFile, name: str, storage: Storage | None = None) -> str:
    """Store a whole file under its name, in the place of an older one. Gives the name that the storage chose."""
    storage = storage or default_storage
    content = part.content if isinstance(part, PartInMemory) else None
    if content is None:
        part.file.flush()
        os.fsync(part.file.fileno())
    if content is not None and _renames(storage):
        _write(content, storage.path(name), cast("FileSystemStorage", storage))
        chosen = name
    elif _renames(storage):
        _rename(part, Path(storage.path(name)), cast("FileSystemStorage", storage))
        chosen = name
    else:
        if storage.exists(name):
            storage.delete(name)
        part.file.seek(0)
        chosen = storage.save(name, File(part.file, name=name))
    part.discard()
    return chosen


def new_storage() -> Storage:
    """The default storage as an object of its own: it shares no connection with the child processes of a worker."""
    return storages.create_storage(cast("dict[str, Any]", storages.backends["default"]))


def delete_file(path: str) -> None:
    """Delete a job's file. It is no error if there is none. Raises BucketUnknown."""
    storage_of(bucket_of(path)).delete(name_of(path))


def _renames(storage: Storage) -> bool:
    """Whether a storage has its files in a directory, and saves them as Django does."""
    return isinstance(storage, FileSystemStorage) and getattr(storage.__class__, SAVE) is getattr(
        FileSystemStorage, SAVE
    )


def _write(content: bytes, path: str, storage: FileSystemStorage) -> None:
    """Store a small file in few system calls: each of them lets another thread run.

    The write itself waits for the disk (O_DSYNC), in place of an fsync after it.
    """
    parent, name = os.path.split(path)
    beside = f"{parent}/{_temporary(name)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_DSYNC
    try:
        descriptor = os.open(beside, flags, 0o600)
    except FileNotFoundError:
        _make_parent(Path(path), storage)
        descriptor = os.open(beside, flags, 0o600)
    try:
        try:
            left = memoryview(content)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fchmod(descriptor, _mode_of_files(storage))
        finally:
            os.close(descriptor)
        os.replace(beside, path)  # noqa: PTH105 - for each download
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _temporary(name: str) -> str:
    """The name of a file until it is published."""
    return f".{name}.{os.getpid()}-{time.monotonic_ns()}.tmp"


def _make_parent(path: Path, storage: FileSystemStorage) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if storage.directory_permissions_mode is not None:
        path.parent.chmod(storage.directory_permissions_mode)


def _mode_of_files(storage: FileSystemStorage) -> int:
    return 0o644 if storage.file_permissions_mode is None else storage.file_permissions_mode


def _rename(part: PartialFile, path: Path, storage: FileSystemStorage) -> None:
    _make_parent(path, storage)
    beside = path.with_name(_temporary(path.name))
    try:
        try:
            part.path.replace(beside)
        except OSError:  # another file system
            shutil.copyfile(part.path, beside)
            with beside.open("rb") as copy:
                os.fsync(copy.fileno())
        beside.chmod(_mode_of_files(storage))
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _own_directory(path: Path) -> Path:
    """A directory of this user alone. Raises OSError if another user has made it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise OSError(f"{path} must be a directory that only its owner can write to, and that this user owns")
    return path


def _locked(path: Path) -> PartialFile | None:
    """The file at a path, with a lock; None if another attempt has the lock."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_at(descriptor, path):  # the other attempt has published or deleted it meanwhile
            os.close(descriptor)
            return _locked(path)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return PartialFile(path, os.fdopen(descriptor, "r+b"))


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether a path still leads to an open file."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    return os.path.samestat(found, os.fstat(descriptor))


def _delete_stale(home: Path) -> None:
    """Delete what jobs have left that were never tried again here. Looks once an hour in each process."""
    now = time.monotonic()
    if now < _next_look.get(home, 0.0):
        return
    _next_look[home] = now + 3600
    for path in home.glob("*"):  # none if there is no such directory
        with contextlib.suppress(OSError):  # it was published or deleted meanwhile
            if time.time() - path.stat().st_mtime > STALE:
                path.unlink()


_next_look: dict[Path, float] = {}
