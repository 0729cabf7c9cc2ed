"""Calls of the deletion queue of files: what is put in, what is due, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from queueops.redis.query_replies import text
from queueops.redis.store_client import StoreClient

HELD_MS = 300_000
"""A worker that deletes a file has so long; then another one takes it."""
LONGEST_ERROR = 500
RETENTION, OPERATOR, ENDED = "retention", "operator", "ended"
"""Why a file is deleted: FILE_RETENTION has passed, an operator wants it, the record of its job is gone."""


class QueuedFile(NamedTuple):
    """A file to be put into the queue: its name, the id of its job, why, and when it is due."""

    path: str
    id: str
    why: str
    delay_ms: int = 0


class FileNote(msgspec.Struct, frozen=True):
    """What is noted of a file in the queue."""

    id: str
    why: str


class DueFile(NamedTuple):
    """A file that this worker is to delete. `till` marks its turn."""

    path: str
    id: str
    why: str
    tries: int
    till: str


class Settled(NamedTuple):
    """What came of a file: gone, left (it is no file of its job) or failed."""

    file: DueFile
    outcome: str
    delay_ms: int = 0
    error: str = ""


class FileCalls(StoreClient):
    """The role of the deletion queue."""

    def queue_files(self, pool: str, files: Sequence[QueuedFile]) -> None:
        """Put files into the queue, or change when they are due."""
        self.announce(pool)
        arguments = [part for each in files for part in (each.path, each.id, each.why, each.delay_ms)]
        if arguments:
            self._call("files", pool, "queue", *arguments)

    def keep_files(self, pool: str, paths: Iterable[str]) -> int:
        """Take files out of the queue. Returns how many were there."""
        return int(self._call("files", pool, "keep", *paths))

    def file_note(self, pool: str, path: str) -> FileNote | None:
        """What is noted of a file; None if it is not in the queue."""
        keys = self.keys(pool)

        def fill(pipe: Any) -> None:
            pipe.zscore(keys.files, path)
            pipe.hget(keys.files_notes, path)

        due, stored = self.ask_all(pool, fill)
        if due is None:
            return None
        try:
            return msgspec.json.decode(stored or b"", type=FileNote)
        except msgspec.MsgspecError:
            return FileNote("", ENDED)

    def file_fields(self, ids: Sequence[tuple[str, str]]) -> dict[tuple[str, str], tuple[bytes, bytes]]:
        """The result of each job, and the time at which its file was deleted, by pool and id. Empty: nothing."""
        found = self.ask_records(ids, lambda pipe, keys, id: pipe.hmget(keys.task(id), "re", "fx"))
        return {place: (row[0] or b"", row[1] or b"") if row else (b"", b"") for place, (row,) in found.items()}

    def next_file(self, pool: str, before: Settled | None = None, *, takes: bool = True) -> DueFile | None:
        """Note what came of a file, and take the next one that is due; None if there is none, or if it takes none."""
        noted: tuple[Any, ...] = ("", "", "", 0, "")
        if before is not None:
            noted = (before.file.path, before.file.till, before.outcome, before.delay_ms, before.error[:LONGEST_ERROR])
        reply = self._call("next_file", pool, HELD_MS if takes else 0, *noted)
        if not reply:
            return None
        path, id, why, tries, till = map(text, reply)
        return DueFile(path, id, why, int(tries), till)
