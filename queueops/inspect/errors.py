"""Error groups: failures with the same fingerprint."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from operator import attrgetter

from queueops.inspect.answer_base import Failure
from queueops.inspect.broken import Listing, broken_pools
from queueops.inspect.models import ErrorRow
from queueops.inspect.store import open_reader
from queueops.redis.query_replies import ErrorFacts, maybe_whole, text, whole

MOST = 200
_TYPE = re.compile(r'"type":\s*"((?:[^"\\]|\\.)*)"')
_MESSAGE = re.compile(r'"message":\s*"((?:[^"\\]|\\.)*)')


def errors(limit: int = 50) -> Listing[ErrorRow]:
    """The error groups of all pools, the latest first."""
    reader = open_reader()
    limit = max(1, min(limit, MOST))
    rows = error_rows(reader.errors(reader.pools(), limit), limit)
    return Listing(rows, broken_pools(reader.broken, reader.silent))


def error_rows(found: Iterable[tuple[str, ErrorFacts]], limit: int) -> list[ErrorRow]:
    """The rows from the answers of the pools, the latest first."""
    rows = [_row(pool, facts) for pool, facts in found]
    return sorted(rows, key=attrgetter("last_ms"), reverse=True)[:limit]


def _row(pool: str, found: ErrorFacts) -> ErrorRow:
    kind, _, message = found.fields.get("title", "").partition(": ")
    return ErrorRow(
        fingerprint=found.fingerprint,
        type=kind,
        message=message,
        name=found.fields.get("name", ""),
        pool=pool,
        count=whole(found.fields.get("count")),
        failed=found.failed,
        first_ms=maybe_whole(found.fields.get("first")) or found.last_ms,
        last_ms=found.last_ms,
        sample_id=found.fields.get("sample", ""),
    )


def read_failure(data: bytes) -> Failure | None:
    """A stored error; a cut or damaged one as far as readable, None if there is none."""
    if not data:
        return None
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
    first = failure.message.strip().partition("\n")[0]
    return ": ".join(part for part in (failure.type, first) if part)[:200]


def _piece(pattern: re.Pattern[str], start: str) -> str:
    found = pattern.search(start)
    if found is None:
        return ""
    try:
        return str(json.loads(f'"{found[1]}"'))
    except ValueError:
        return found[1]
