"""Orphans of downloads: files in the storage without a job, and jobs whose file is gone.

A file is known by its name, `<shard>/<id>` in any directory. Only ids that QueueOps made are looked at: another file of
the project could have a name such as `abc/abcdef`. A file that a killed worker was publishing is an orphan, too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple

import msgspec
from django.core.files.storage import Storage, default_storage

from queueops import conf
from queueops.errors.job_network import BucketNotRead, BucketUnknown
from queueops.kinds.jobs.aggregations.job_list import JobRow, jobs
from queueops.kinds.jobs.files.download_options import DOWNLOAD
from queueops.kinds.jobs.files.file_store import TEMPORARY, is_temporary, shards_of
from queueops.kinds.jobs.files.s3_buckets import bucket_of, name_of, path_in, storage_of
from queueops.kinds.jobs.settings import of_jobs
from queueops.kinds.jobs.store import JobCalls
from queueops.model.states import State
from queueops.redis.broker import get_role

MADE_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}|key-[0-9a-f]{40}")
"""An id that QueueOps made: a ULID, or that of a job with an idempotency key of the API."""
AT_ONCE = 200
ABANDONED_S = 3600
DEEPEST = 20
"""Directories within each other that are searched: a subpath has fewer, and a link may lead in a circle."""


class LostFile(NamedTuple):
    """A job that has succeeded, and the name of its file, which is gone."""

    id: str
    pool: str
    path: str


def files_without_job(*, is_over: Callable[[], bool] = lambda: False) -> Iterator[str]:
    """The names of files whose job is gone: neither a record nor one in the trash of any pool has the id.

    They are in the default storage and in the buckets of `S3_BUCKETS`. ``is_over`` is asked before each file, and ends
    the search. Raises BucketNotRead, and BrokerUnavailable: if one pool does not answer, no file counts as an orphan.
    """
    batch: list[str] = []
    for name in chain(_files(default_storage, "", DEEPEST), *map(_in_bucket, sorted(of_jobs().s3_buckets))):
        if is_over():
            break
        if id_of(name):
            batch.append(name)
        if len(batch) == AT_ONCE:
            yield from without_job(batch)
            batch = []
    yield from without_job(batch)


def jobs_without_file() -> Iterator[LostFile]:
    """The downloads that have succeeded, and whose file is gone, but for those that the deletion queue has deleted.

    A file in a bucket that the settings no longer name is not looked for. Raises BucketNotRead.
    """
    calls, after = get_role(JobCalls), ""
    while True:
        page = jobs(state=State.SUCCEEDED, after=after, limit=AT_ONCE)
        rows = [row for row in page.rows if row.handler == DOWNLOAD]
        stored = calls.file_fields([(row.pool, row.id) for row in rows])
        for row in rows:
            result, deleted = stored[row.pool, row.id]
            path = _path(result)
            if path and not deleted and _is_gone(path):
                yield _lost(row, path)
        after = page.next
        if not after:
            return


def _lost(row: JobRow, path: str) -> LostFile:
    return LostFile(row.id, row.pool, path)


def _is_gone(path: str) -> bool:
    bucket = bucket_of(path)
    try:
        with _read(bucket):
            return not storage_of(bucket).exists(name_of(path))
    except BucketUnknown:
        return False


def _in_bucket(bucket: str) -> Iterator[str]:
    """The names of all files in a bucket."""
    with _read(bucket):
        yield from (path_in(bucket, name) for name in _files(storage_of(bucket), "", DEEPEST))


@contextmanager
def _read(bucket: str) -> Iterator[None]:
    """Tell which bucket cannot be read; the default storage raises its own errors."""
    try:
        yield
    except Exception as error:  # each storage has errors of its own
        if not bucket or isinstance(error, BucketUnknown):
            raise
        raise BucketNotRead(bucket=bucket, reason=f"{type(error).__name__}: {error}") from error


def _files(storage: Storage, directory: str, depth: int) -> Iterator[str]:
    """The names of all files below a directory of the storage."""
    try:
        directories, files = storage.listdir(directory)
    except FileNotFoundError:  # the storage is empty, or the directory was deleted meanwhile
        return
    prefix = f"{directory}/" if directory else ""
    yield from (f"{prefix}{name}" for name in files)
    for name in directories if depth else ():
        yield from _files(storage, f"{prefix}{name}", depth - 1)


def id_of(name: str) -> str:
    """The id of the job that has stored a file; empty for another file."""
    directory, _, file = name.rpartition("/")
    found = TEMPORARY.fullmatch(file)
    id = found["name"] if found else file
    is_ours = found is not None or MADE_ID.fullmatch(id)
    return id if is_ours and directory.rpartition("/")[2] in shards_of(id) else ""


def without_job(names: list[str]) -> list[str]:
    """Those of these files whose job is gone, and those that were being published and are old.

    None for another store of the console: the files are of the project's storage, and the jobs would be of that store.
    """
    if conf.store_name():
        return []
    calls, ids = get_role(JobCalls), [id_of(name) for name in names]
    kept = {id for pool in calls.pools() for id in calls.kept(pool, ids)} if names else set()
    return [
        name
        for name, id in zip(names, ids, strict=True)
        if (is_abandoned(name) if is_temporary(name) else id not in kept)
    ]


def is_abandoned(name: str) -> bool:
    """Whether a file that was being published has not changed for an hour. One that is gone was published."""
    try:
        changed = storage_of(bucket_of(name)).get_modified_time(name_of(name))
    except (FileNotFoundError, NotImplementedError):
        return False
    return time.time() - changed.timestamp() > ABANDONED_S


def _path(result: bytes) -> str:
    try:
        found: Any = msgspec.json.decode(result) if result else None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    return str(found.get("path") or "") if isinstance(found, dict) else ""
