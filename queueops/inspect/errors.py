"""Error groups: failures with the same fingerprint."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import ClassVar

from msgspec.structs import force_setattr

from queueops.inspect.answers import Answer, Listing, broken_pools
from queueops.inspect.marks import HistoryMark, release_of
from queueops.inspect.redaction import redactor
from queueops.inspect.store import open_reader
from queueops.model import stored_sentences
from queueops.model.encryption import without_sealed
from queueops.model.sentences import join
from queueops.model.stored_sentences import Stored
from queueops.model.task_error import without_module
from queueops.redis.query_replies import maybe_whole, text, texts, whole
from queueops.redis.reader import Reader

MOST = 200
LONGEST_TITLE = 200
RELEASES_MS = 14 * 86_400_000
"""So far back a list of errors looks for the newest release."""
_TYPE = re.compile(r'"type":\s*"((?:[^"\\]|\\.)*)"')
_MESSAGE = re.compile(r'"message":\s*"((?:[^"\\]|\\.)*)')


class Failure(Answer, frozen=True, kw_only=True):
    """An error as it was recorded; the traceback is bounded."""

    fingerprint: str = ""
    type: str = ""
    message: str = ""
    traceback: str = ""

    TEXTS: ClassVar = ("type",)

    def __post_init__(self) -> None:
        """Redact the texts; a user without the permission for arguments gets only type and code locations."""
        hide = redactor()
        force_setattr(self, "message", stored_sentences.message(self.type, hide.message(self.message)))
        force_setattr(self, "traceback", hide.traceback(self.traceback))
        super().__post_init__()


class ErrorRow(Answer, frozen=True, kw_only=True):
    """Failures of one fingerprint."""

    fingerprint: str
    type: str
    message: str
    name: str
    pool: str
    count: int  # number of failures
    failed: int  # number of tasks now in the state failed because of it
    first_ms: int
    last_ms: int
    sample_id: str
    muted_until_ms: int | None = None  # until then its failures raise no alarm
    release: HistoryMark | None = None  # of the workers of its pool, the newest within 14 days; in the list of errors

    TEXTS: ClassVar = ("type",)
    TEXTS_OF_TASKS: ClassVar = ("message",)

    @property
    def short_title(self) -> str:
        """The error in one line, its type without its module."""
        return without_module(": ".join(filter(None, (self.type, self.message))))


def errors(limit: int = 50) -> Listing[ErrorRow]:
    """The error groups of all pools, the latest first."""
    reader = open_reader()
    limit = max(1, min(limit, MOST))
    rows = error_rows(reader, reader.pools(), limit, RELEASES_MS)
    return Listing(rows, broken_pools(reader.broken, reader.silent))


def error_rows(reader: Reader, pools: Iterable[str], limit: int, releases_ms: int = 0) -> list[ErrorRow]:
    """The error groups of these pools, the latest first; with the newest release of the last `releases_ms`."""
    replies = reader.ask("errors", dict.fromkeys(pools, (limit, releases_ms)))
    found = [
        (pool, *row, release)
        for pool, (rows, *starts) in replies.items()
        for release in (release_of(pool, *starts) if starts else None,)
        for row in rows
    ]
    found.sort(key=lambda row: whole(row[2]), reverse=True)
    return [error_row(*row) for row in found[:limit]]


def error_row(
    pool: str,
    fingerprint: bytes,
    last: bytes,
    flat: Iterable[bytes],
    failed: int,
    release: HistoryMark | None = None,
) -> ErrorRow:
    """One error group, as the store tells it."""
    fields, last_ms = texts(flat), whole(last)
    kind, _, message = fields.get("title", "").partition(": ")
    return ErrorRow(
        fingerprint=text(fingerprint),
        type=kind,
        message=stored_sentences.message(kind, message),
        name=fields.get("name", ""),
        pool=pool,
        count=whole(fields.get("count")),
        failed=failed,
        first_ms=maybe_whole(fields.get("first")) or last_ms,
        last_ms=last_ms,
        sample_id=fields.get("sample", ""),
        muted_until_ms=maybe_whole(fields.get("muted")),
        release=release,
    )


def read_failure(data: bytes) -> Failure | None:
    """A stored error; of a cut or damaged error the readable part, None if there is no error."""
    if not data:
        return None
    data = without_sealed(data)
    try:
        found = json.loads(data)
        return Failure(**{field: str(found.get(field) or "") for field in Failure.__struct_fields__})
    except (ValueError, AttributeError, RecursionError):
        start = text(data)
        return Failure(type=_piece(_TYPE, start), message=_piece(_MESSAGE, start) or start[:200])


def title(failure: Failure | None) -> str:
    """An error in one line."""
    if failure is None:
        return ""
    told, first = failure.message, failure.message.strip().partition("\n")[0]
    if isinstance(told, Stored):
        return join(failure.type, told.altered(first[: max(0, LONGEST_TITLE - len(failure.type) - 2)]), by=": ")
    return ": ".join(part for part in (failure.type, first) if part)[:LONGEST_TITLE]


def _piece(pattern: re.Pattern[str], start: str) -> str:
    found = pattern.search(start)
    if found is None:
        return ""
    try:
        return str(json.loads(f'"{found[1]}"'))
    except ValueError:
        return found[1]
