"""HTTP failures: whether a request that failed is worth another attempt, and when."""

from __future__ import annotations

import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import StrEnum

from queueops.errors.job_network import AddressRefused, HeaderRefused

DAY = 86_400.0
TOO_MANY, GONE = 429, 410
RETRIABLE = frozenset({408, 409, 421, 423, 425, TOO_MANY})
"""Statuses from 400 to 499 after which the same request may succeed later. All from 500 may."""


class FailureKind(StrEnum):
    """What went wrong, as it is counted and filtered."""

    REFUSED = "refused"  # by the network guard
    CONNECTION = "connection"
    TLS = "tls"
    TIMEOUT = "timeout"
    REDIRECTS = "redirects"
    PROTOCOL = "protocol"
    STATUS = "status"
    BODY = "body"  # it ended too early
    ENCODING = "encoding"
    SIZE = "size"
    MIME = "mime"
    IMAGE = "image-size"
    STORAGE = "storage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a request failed. `retriable` is False if another attempt would fail in the same way."""

    kind: FailureKind
    reason: str
    retriable: bool
    status: int | None = None  # of the answer, if there was one
    retry_after: float | None = None  # seconds that the answer asks for
    what: str = ""  # that was refused: url, proxy or callback by the network guard, or the topic by Kafka


class AttemptFailed(Exception):
    """An attempt has failed on its way."""

    def __init__(self, kind: FailureKind, reason: str, *, retriable: bool = True) -> None:
        super().__init__(reason)
        self.failure = Failure(kind=kind, reason=reason, retriable=retriable)


def failure_of_status(status: int, wait: str = "") -> Failure:
    """The failure of an answer whose status is not a success; ``wait`` is its header `Retry-After`."""
    return Failure(
        kind=FailureKind.STATUS,
        reason=f"The answer has the status {status}.",
        retriable=status >= 500 or status in RETRIABLE,
        status=status,
        retry_after=retry_after(wait),
    )


def failure_of_error(error: AttemptFailed | AddressRefused | HeaderRefused) -> Failure:
    """The failure of an attempt without a whole answer."""
    if isinstance(error, AttemptFailed):
        return error.failure
    what = error.what if isinstance(error, AddressRefused) else ""
    return Failure(kind=FailureKind.REFUSED, reason=str(error), retriable=False, what=what)


def retry_after(value: str) -> float | None:
    """Seconds of a header `Retry-After`, from 0 to a day. It has seconds or a date; None if it has neither."""
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:12]), DAY)
    try:
        return min(max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0), DAY)
    except (ValueError, TypeError, OverflowError):
        return None
