"""Lists of files: those that are stored, those in the deletion queue, and those without a job."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from queueops import conf
from queueops.errors.job_network import BucketNotRead
from queueops.inspect import pagination
from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.store import open_reader, pools_of
from queueops.kinds.jobs.aggregations.job_list import JobRow, jobs
from queueops.kinds.jobs.files.download_options import DOWNLOAD
from queueops.kinds.jobs.store import JobCalls
from queueops.model.sentences import say
from queueops.model.states import State
from queueops.redis.broker import get_role
from queueops.redis.query_replies import maybe_whole, text, whole

MOST = 200
INDEX = "files"
ORPHANS_S, MOST_LOOKED_AT = 2.0, 20_000
"""A page looks for orphans for so long, and at so many files at most."""
OF_PROJECT = say("Files without a job are found in the console of the project's own store alone.")


class QueuedFileRow(Answer, frozen=True, kw_only=True):
    """A file in the deletion queue."""

    TEXTS: ClassVar = ("error",)

    path: str
    pool: str
    job: str
    why: str  # ended, retention, operator
    due_ms: int
    tries: int  # deletions that have failed
    error: str  # the last one


class QueuedFilePage(Answer, frozen=True, kw_only=True):
    """One page of the deletion queue, the first due first; `next` continues it, empty at the end."""

    rows: tuple[QueuedFileRow, ...]
    next: str = ""
    total: int = 0  # in the queues of this page, also those that have not failed
    dropped: int = 0  # files that did not fit into a full queue: they are orphans
    broken: tuple[Broken, ...] = ()


class StoredFile(Answer, frozen=True, kw_only=True):
    """The file of a job that has succeeded."""

    path: str
    pool: str
    job: str
    aggregation: str
    size: int
    mime_type: str
    stored_ms: int
    deleted_ms: int | None  # when it was deleted before its job


class StoredFilePage(Answer, frozen=True, kw_only=True):
    """One page of stored files, the latest first; `next` continues it, empty at the end. A page may be short."""

    rows: tuple[StoredFile, ...]
    next: str = ""
    broken: tuple[Broken, ...] = ()


class OrphanFiles(Answer, frozen=True, kw_only=True):
    """Files without a job, as far as a page looks: `partial` if it did not look at all files."""

    paths: tuple[str, ...]
    partial: bool = False
    fault: str = ""  # why the search has ended early


def file_deletions(pool: str = "", after: str = "", limit: int = 50, *, failed: bool = False) -> QueuedFilePage:
    """The deletion queue of a pool or of all; with `failed` those alone whose deletion has failed.

    Raises FilterError for a wrong `after`.
    """
    reader, limit = open_reader(), max(1, min(limit, MOST))
    pools = pools_of(reader, pool)
    places = pagination.read(after, pools, [INDEX]) if after else dict.fromkeys(pools, (INDEX, "", ""))
    asked = {name: (time, path, limit, "1" if failed else "") for name, (_, time, path) in places.items()}
    replies = reader.ask("file_queue", asked)
    walks = {name: _walk(places[name], name, more, rows) for name, (more, _, _, rows) in replies.items()}
    taken, following = pagination.merge(walks, limit, lambda _, row: row.due_ms)
    return QueuedFilePage(
        rows=tuple(row for _, row in taken),
        next=pagination.write(following),
        total=sum(int(total) for _, total, _, _ in replies.values()),
        dropped=sum(whole(text(dropped)) for _, _, dropped, _ in replies.values()),
        broken=broken_pools(reader.broken, reader.silent),
    )


def stored_files(pool: str = "", after: str = "", limit: int = 50) -> StoredFilePage:
    """The files of downloads that have succeeded and are still kept. Raises FilterError for a wrong `after`."""
    page = jobs(state=State.SUCCEEDED, pool=pool, after=after, limit=limit)
    found = get_role(JobCalls).file_fields([(row.pool, row.id) for row in page.rows])
    rows = [_stored(row, *found[row.pool, row.id]) for row in page.rows if row.handler == DOWNLOAD]
    return StoredFilePage(rows=tuple(row for row in rows if row.path), next=page.next, broken=page.broken)


def orphan_files(limit: int = 50) -> OrphanFiles:
    """Files without a job in the storage. A page looks for two seconds; `manage.py jobs orphans` looks at all.

    Those in a bucket that cannot be read are left out, and `fault` says so.
    """
    from queueops.kinds.jobs.files.orphans import files_without_job

    if conf.store_name():
        return OrphanFiles(paths=(), fault=OF_PROJECT)
    until, looked = time.monotonic() + ORPHANS_S, 0

    def is_over() -> bool:
        nonlocal looked
        looked += 1
        return looked > MOST_LOOKED_AT or time.monotonic() > until

    paths: list[str] = []
    try:
        for path in files_without_job(is_over=is_over):
            paths.append(path)
            if len(paths) == limit:
                return OrphanFiles(paths=tuple(paths), partial=True)
    except BucketNotRead as error:
        return OrphanFiles(paths=tuple(paths), partial=True, fault=str(error))
    return OrphanFiles(paths=tuple(paths), partial=is_over())


def result_of(result: bytes) -> Mapping[str, Any]:
    """The result of a download as a dict; empty for any other."""
    try:
        found: Any = msgspec.json.decode(result) if result else None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def _stored(row: JobRow, result: bytes, deleted: bytes) -> StoredFile:
    found = result_of(result)
    size = found.get("size")
    return StoredFile(
        path=str(found.get("path") or ""),
        pool=row.pool,
        job=row.id,
        aggregation=row.aggregation,
        size=size if isinstance(size, int) else 0,
        mime_type=str(found.get("mime_type") or ""),
        stored_ms=row.entered_ms,
        deleted_ms=maybe_whole(text(deleted)),
    )


def _walk(place: pagination.Place, pool: str, more: bytes, found: Sequence[Any]) -> pagination.Walk[QueuedFileRow]:
    rows = [((INDEX, text(row[0]), text(row[1])), _queued(pool, *map(text, row))) for row in found]
    return pagination.Walk(start=place, rows=rows, next=rows[-1][0] if more and rows else None)


def _queued(pool: str, due: str, path: str, stored: str) -> QueuedFileRow:
    note = result_of(stored.encode())
    tries = note.get("tries")
    return QueuedFileRow(
        path=path,
        pool=pool,
        job=str(note.get("id") or ""),
        why=str(note.get("why") or ""),
        due_ms=whole(due),
        tries=int(tries) if isinstance(tries, int | float) else 0,
        error=str(note.get("error") or ""),
    )
