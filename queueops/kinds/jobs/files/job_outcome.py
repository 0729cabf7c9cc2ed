"""Outcome of a download: what came of its request, and the file that it has stored."""

from __future__ import annotations

from queueops.inspect.answers import Answer
from queueops.kinds.jobs.files.download_options import DOWNLOAD
from queueops.kinds.jobs.files.download_url import download_url
from queueops.kinds.jobs.files.file_list import result_of
from queueops.kinds.jobs.http.net_guard import shown_url
from queueops.kinds.jobs.store import JobCalls
from queueops.redis.broker import get_role
from queueops.redis.query_replies import maybe_whole, text


class JobOutcome(Answer, frozen=True, kw_only=True):
    """The answer that a download got, and its file, if it has one. Empty texts and None: nothing."""

    response_code: int | None = None
    path: str = ""  # in the storage
    url: str = ""  # of the file, without secrets
    size: int | None = None
    mime_type: str = ""
    image_size: str = ""
    deleted_ms: int | None = None  # when the file was deleted before its job


def outcome_of(id: str, pool: str, handler: str) -> JobOutcome:
    """The outcome of the last run of a job. That of another handler has no file."""
    result, error, deleted = get_role(JobCalls).outcome(pool, id)
    found, stored = result_of(result), result_of(error)
    code, size = found.get("response_code") or stored.get("code"), found.get("size")
    if handler != DOWNLOAD:
        return JobOutcome(response_code=_whole(code))
    path = str(found.get("path") or "")
    return JobOutcome(
        response_code=_whole(code),
        path=path,
        url=shown_url(download_url(path)) if path else "",
        size=_whole(size),
        mime_type=str(found.get("mime_type") or ""),
        image_size=str(found.get("image_size") or ""),
        deleted_ms=maybe_whole(text(deleted)),
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
