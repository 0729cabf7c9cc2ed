"""Partial content: whether an answer is the next part of what was read before, and what tells that it is the same."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime

from queueops.kinds.jobs.files.file_store import Origin
from queueops.kinds.jobs.http.http_exchange import Answer

RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)", re.IGNORECASE)


class OtherPart(Exception):
    """An answer is not the next part of what was read before. It was asked for nothing else."""


def origin_of(answer: Answer, url: str, total: int | None) -> Origin | None:
    """What the bytes of an answer come from; None if another answer cannot continue it."""
    validator = _validator(answer)
    if not validator or total is None or is_packed(answer):
        return None
    return Origin(url, validator, total, _source(answer))


def length_of(answer: Answer) -> int | None:
    """The length of a body; None if it ends with the connection or comes in chunks."""
    if "transfer-encoding" in answer.headers or "content-length" not in answer.headers:
        return None
    return int(answer.headers["content-length"].partition(",")[0])


def has_range(answer: Answer) -> bool:
    """Whether an answer says that it has a range of bytes. Some servers say so with another status than 206."""
    return RANGE.fullmatch(answer.headers.get("content-range", "")) is not None


def end_of_part(answer: Answer, offset: int, origin: Origin | None) -> tuple[int, int]:
    """Where a part ends that must begin at `offset`, and the size of the whole file. Raises OtherPart."""
    found = RANGE.fullmatch(answer.headers.get("content-range", ""))
    if not found or answer.headers.get("content-type", "").lower().startswith("multipart/byteranges"):
        raise OtherPart("does not say which part of the file it has")
    if is_packed(answer):
        raise OtherPart("has a part of a packed file")
    first, end = int(found[1]), int(found[2]) + 1
    total = int(found[3]) if found[3] != "*" else origin.total if origin else -1
    if first != offset or not first < end <= total or length_of(answer) not in (None, end - first):
        raise OtherPart("has another part of the file than was asked for")
    if origin and not _is_same(answer, origin, total):
        raise OtherPart("has a part of another version of the file")
    return end, total


def _is_same(answer: Answer, origin: Origin, total: int) -> bool:
    """Whether an answer has the validator itself: a server that ignores If-Range sends a part of what there is now."""
    validators = (answer.headers.get("etag"), answer.headers.get("last-modified"))
    return origin.validator in validators and total == origin.total and _source(answer) == origin.source


def _validator(answer: Answer) -> str:
    """A strong ETag, or the time of the last change if a second one would have another time."""
    etag, changed = answer.headers.get("etag", ""), answer.headers.get("last-modified", "")
    if etag.startswith('"') and etag.isascii():  # another one would not come back to the server as it is
        return etag
    try:
        age = parsedate_to_datetime(answer.headers.get("date", "")) - parsedate_to_datetime(changed)
    except (ValueError, TypeError):
        return ""
    return changed if age.total_seconds() >= 1 and changed.isascii() else ""


def _source(answer: Answer) -> str:
    """The address that gave an answer, without its query: that of a signed URL differs each time."""
    target = answer.target
    return f"{target.scheme}://{target.authority}{target.path.partition('?')[0]}"


def is_packed(answer: Answer) -> bool:
    """Whether a body is told to be packed."""
    return answer.headers.get("content-encoding", "").strip().lower() not in ("", "identity")
