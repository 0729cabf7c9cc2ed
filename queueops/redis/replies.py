"""What Redis answers when it can't, in our words: the one place that turns replies into exceptions."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from typing import TypeVar

from redis import exceptions

from queueops.conf import BrokerRetry, redactor
from queueops.errors import BrokerUnavailable, QueueOpsError, StoreFull
from queueops.errors.refusals import StoreRefuses, advice_about
from queueops.redis import deadlines

LATER = (
    "BUSY",
    "LOADING",
    "READONLY",
    "MASTERDOWN",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "NOREPLICAS",
    "MISCONF",
)
"""Error replies that mean "later": the call did nothing, and may be made again."""

T = TypeVar("T")
_WRAPPED = re.compile(r"^Error running script .*@user_script: ?\d+: (?=-?[A-Z]{3,} )", re.DOTALL)

PASSING = (
    exceptions.BusyLoadingError,
    exceptions.ReadOnlyError,
    exceptions.ClusterError,  # ClusterDownError, TryAgainError, and more of the sort
    exceptions.MovedError,
    exceptions.AskError,
    exceptions.RedisClusterException,  # no RedisError: no slot map can be had, or the slot is not covered
)
UNREACHABLE = (exceptions.ConnectionError, exceptions.TimeoutError, OSError)


def said(error: BaseException) -> str:
    """What the store said; a server older than 7 wraps what a command answered to a script."""
    return _WRAPPED.sub("", str(error)).lstrip("-")


def is_full(error: BaseException) -> bool:
    """Whether Redis refused because it is out of memory."""
    return isinstance(error, exceptions.ResponseError) and said(error).startswith(("OOM", "command not allowed"))


def is_later(error: BaseException) -> bool:
    """Whether the same call may succeed a little later."""
    if isinstance(error, UNREACHABLE):
        return not isinstance(error, exceptions.AuthenticationError)
    if isinstance(error, PASSING):
        return True
    return isinstance(error, exceptions.ResponseError) and said(error).startswith(LATER)


def _is_fault(error: BaseException) -> bool:
    """Whether a script, a key of another type than it should be, or a call of ours is at fault, and not the store."""
    if isinstance(error, exceptions.DataError):
        return True
    text = said(error)
    plain = isinstance(error, exceptions.ResponseError) and not isinstance(error, exceptions.NoPermissionError)
    return plain and ("WRONGTYPE" in text or "script" in text) and not (is_later(error) or advice_about(text))


def translate(error: Exception, url: str, attempts: int = 1) -> QueueOpsError | None:
    """Our error for one of Redis, or None when it is a fault of the engine itself, which must be seen as it is."""
    if is_full(error):
        return StoreFull(reason=said(error)[:200].rstrip(". \n"))
    if not _is_fault(error):
        return unavailable(error, url, attempts)
    return None


def unavailable(error: Exception, url: str, attempts: int = 1) -> BrokerUnavailable:
    """That the store did not answer, or that it refuses us."""
    reason = f"{type(error).__name__}: {_reason(error)}".rstrip(". \n")
    if advice := advice_about(str(error)):
        return StoreRefuses(url=redactor().text(url), attempts=attempts, reason=reason, advice=advice)
    return BrokerUnavailable(url=redactor().text(url), attempts=attempts, reason=reason)


def _reason(error: Exception) -> str:
    if isinstance(error, exceptions.MovedError):
        return (
            f"the pool is on another server of a cluster, {error.host}:{error.port}; the URL begins with redis+cluster:"
        )
    if isinstance(error, exceptions.AskError):
        return f"the slot of the pool is being moved to another server of the cluster, {error.host}:{error.port}"
    return redactor().text(said(error))[:200]


def repeat(call: Callable[[], T], url: str, retry: BrokerRetry) -> T:
    """Make a whole, idempotent call until it is answered, at most ``retry.attempts`` times.

    Raises BrokerUnavailable when none was, StoreFull at once when Redis takes nothing new. No attempt begins later than
    ``retry.budget`` seconds after the first, nor when the process is to end or the caller's own time is over.
    """
    left = deadlines.left()
    last = time.monotonic() + (retry.budget if left is None else min(left, retry.budget))
    for attempt in range(1, retry.attempts + 1):
        try:
            with deadlines.Waiting():
                return call()
        except (exceptions.RedisError, exceptions.RedisClusterException, OSError) as error:
            again = attempt < retry.attempts and time.monotonic() < last and not deadlines.has_run_out()
            if again and is_later(error) and not is_full(error):
                time.sleep(min(retry.cap, retry.base * 2 ** (attempt - 1)) * random.uniform(0.5, 1))
                continue
            ours = translate(error, url, attempt)
            if ours is None:
                raise
            raise ours from error
    raise AssertionError("attempts is at least 1")
