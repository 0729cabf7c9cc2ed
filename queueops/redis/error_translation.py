"""Error translation: turns Redis' errors into QueueOps' exceptions, and says which calls may succeed later."""

from __future__ import annotations

import re

from redis import exceptions

from queueops.conf import redactor
from queueops.errors import BrokerUnavailable, QueueOpsError, StoreFull
from queueops.errors.refusals import StoreNotReady, refusal_about
from queueops.model.redact import cut
from queueops.model.store_url import masked

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
"""Error replies that mean "later": the call did nothing, and may be repeated."""
LONGEST_REASON = 1_000
"""The most characters of the server's own text in an error."""

_WRAPPED = re.compile(
    r"^(?:Command # \d+ .* of pipeline caused error: )?"
    r"(?:Error running script .*@user_script: ?\d+: (?=-?[A-Z]{3,} ))?",
    re.DOTALL,
)

PASSING = (
    exceptions.BusyLoadingError,
    exceptions.ReadOnlyError,
    exceptions.ClusterError,  # ClusterDownError, TryAgainError, and similar
    exceptions.MovedError,
    exceptions.AskError,
    exceptions.RedisClusterException,  # not a RedisError: no slot map is available, or the slot is not covered
)
NOT_READY = (
    exceptions.BusyLoadingError,
    exceptions.MasterDownError,
    exceptions.ClusterDownError,
    exceptions.TryAgainError,
)
"""Errors of redis-py for an answer of the server that means "later"."""
UNREACHABLE = (exceptions.ConnectionError, exceptions.TimeoutError, OSError)


def said(error: BaseException) -> str:
    """The text of an error, without what redis-py and a server before version 7 write before it.

    Redis-py names a pipeline's command with its arguments. That server names the script that sent a command.
    """
    return _WRAPPED.sub("", str(error)).lstrip("-")


def is_full(error: BaseException) -> bool:
    """Whether Redis refused because it is out of memory."""
    return isinstance(error, exceptions.ResponseError) and said(error).startswith(("OOM", "command not allowed"))


def is_later(error: BaseException) -> bool:
    """Whether the same call may succeed shortly after."""
    if isinstance(error, UNREACHABLE):
        return not isinstance(error, exceptions.AuthenticationError)
    if isinstance(error, PASSING):
        return True
    return isinstance(error, exceptions.ResponseError) and said(error).startswith(LATER)


def slot_moves(error: BaseException | None) -> bool:
    """Whether a call failed because the slot of its key moves to another server of the cluster, or has moved."""
    return isinstance(error, exceptions.AskError | exceptions.TryAgainError)  # MovedError is an AskError


def _is_fault(error: BaseException) -> bool:
    """Whether the fault is not the store's: a script, a wrong key type or a call of QueueOps caused it."""
    if isinstance(error, exceptions.DataError):
        return True
    text = said(error)
    plain = isinstance(error, exceptions.ResponseError) and not isinstance(error, exceptions.NoPermissionError)
    return plain and ("WRONGTYPE" in text or "script" in text) and not (is_later(error) or refusal_about(text))


def translate(error: Exception, url: str, attempts: int = 1) -> QueueOpsError | None:
    """The QueueOps error for a redis-py error; None for a fault of the engine, which must be raised unchanged."""
    if is_full(error):
        return StoreFull(reason=cut(said(error), LONGEST_REASON).rstrip(". \n"))
    if not _is_fault(error):
        return unavailable(error, url, attempts)
    return None


def unavailable(error: Exception, url: str, attempts: int = 1) -> BrokerUnavailable:
    """The error for a store that did not answer, or that refuses this user."""
    reason = f"{type(error).__name__}: {_reason(error)}".replace(url, masked(url)).rstrip(". \n")
    if refusal := refusal_about(str(error), url):
        advice, refused = refusal
        return refused(url=masked(url), attempts=attempts, reason=reason, advice=advice)
    not_ready = isinstance(error, NOT_READY) or said(error).startswith(LATER)
    return (StoreNotReady if not_ready else BrokerUnavailable)(url=masked(url), attempts=attempts, reason=reason)


def _reason(error: Exception) -> str:
    if isinstance(error, exceptions.MovedError):
        return (
            f"the pool is on another server of a cluster, {error.host}:{error.port}; the URL begins with redis+cluster:"
        )
    if isinstance(error, exceptions.AskError):
        return f"the slot of the pool is being moved to another server of the cluster, {error.host}:{error.port}"
    return cut(redactor().text(said(error)), LONGEST_REASON)
