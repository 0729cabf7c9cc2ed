"""Settlement rules: turn what a task returned or raised into the settlement of its lease.

They send nothing. Back-offs have a random part, and stored errors obey the settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queueops.errors import (
    Cancelled,
    NotDecodable,
    NotEncodable,
    PayloadTooLarge,
    Restart,
    Shutdown,
    SoftTimeout,
)
from queueops.model import retry
from queueops.model.contracts import Lease, LeaseRef, Outcome, Settlement
from queueops.model.kinds import PARTS
from queueops.model.reasons import kept
from queueops.tasks.context import Context
from queueops.tasks.decisions import Permanent, RetryLater
from queueops.tasks.encoding import encode_result
from queueops.worker.execution import failure

UNKNOWN_DELAY_MS = NOT_BEGUN_DELAY_MS = 5_000
_IMPORTS = "; a worker imports the module tasks of each installed app, and what that imports"
NO_RETRY = NO_DELAY = -1
TAKEN_OVER = "its worker process was silent, and the task had not started there"
NOT_STARTED = "it was not started here"
_SUCCESS = Outcome.SUCCESS


def returned(context: Context, value: Any) -> Settlement:
    """The task returned. Raises NotEncodable, PayloadTooLarge or what its kind raises for an unfit result."""
    lease = context.lease
    handler = context.handler
    encode, is_open = getattr(handler, "encode_result", encode_result), getattr(handler, "is_result_open", False)
    return Settlement(lease.id, lease.fence, _SUCCESS, encode(lease.name, value), lane=lease.lane, is_open=is_open)


def raised(context: Context, error: BaseException, *, has_returned: bool = False) -> Settlement:
    """The task ended with an exception, a decision or an interrupt; ``has_returned``: its result is invalid."""
    lease = context.lease
    if context.cancel_requested:
        return cancelled(context, error)
    match error:
        case Restart():
            delay = round(error.seconds * 1000)
            return Settlement(lease.id, lease.fence, Outcome.RESTART, b"", delay, counted=error.counted)
        case Cancelled() if context.lost:  # if its lease is valid after all, the task runs again
            return released(lease, context.cancel_reason)
        case Cancelled():
            return Settlement(lease.id, lease.fence, Outcome.CANCEL, kept(getattr(error, "reason", "")).encode())
        case Shutdown():
            return released(lease, "the worker stopped")
        case RetryLater():
            return _error(lease, Outcome.ERROR, error.as_raised(), round(error.seconds * 1000))
        case Permanent():
            cause = error.as_raised()
            return _error(lease, Outcome.ERROR, cause, NO_RETRY, expected=_is_expected(context, cause))
        case SoftTimeout():
            return _error(lease, Outcome.TIMEOUT, with_limit(context, error), _delay(lease))
        case NotDecodable() if error.what == "arguments" and error.name == lease.name:
            return Settlement(lease.id, lease.fence, Outcome.QUARANTINE, str(error).encode("utf-8", "replace"))
        case NotEncodable() | PayloadTooLarge() if error.name == lease.name:
            return _error(lease, Outcome.ERROR, error, NO_RETRY)  # its value can't be stored, as with a result
        case _ if getattr(context.handler, "is_unfit", _never)(error):
            return _error(lease, Outcome.ERROR, error, NO_RETRY)  # what it gave can't be stored, as with a result
    if not has_returned and _is_expected(context, error):
        return _error(lease, Outcome.ERROR, error, NO_RETRY, expected=True)
    retried = not has_returned and isinstance(error, _retried_errors(context.handler))
    return _error(lease, Outcome.ERROR, error, _delay(lease) if retried else NO_RETRY)


def cancelled(context: Context, error: BaseException) -> Settlement:
    """Cancel a task that was asked to stop and did not return, whatever it raised.

    A part of a task is released instead. Its task had ended when it was asked to stop, and may have been retried since.
    """
    lease = context.lease
    own_reason = getattr(error, "reason", "") if isinstance(error, Cancelled) else ""
    reason = own_reason or context.cancel_reason
    if lease.kind in PARTS:
        return released(lease, reason)
    return Settlement(lease.id, lease.fence, Outcome.CANCEL, kept(reason).encode())


def released(lease: Lease, reason: str) -> Settlement:
    """The task goes back to its lane without a charge."""
    return Settlement(lease.id, lease.fence, Outcome.RELEASE, reason.encode())


def unstarted(lease: Lease | LeaseRef, reason: str) -> Settlement:
    """The same for a task that was not started here. So it may still expire."""
    return Settlement(lease.id, lease.fence, Outcome.RELEASE, reason.encode(), delay_ms=NO_DELAY)


def not_begun(context: Context, reason: str) -> Settlement:
    """Its executor could not begin the task: it waits without a charge, so that other tasks are tried meanwhile."""
    lease = context.lease
    said = kept(f"its executor could not begin it: {reason}").encode()
    return Settlement(lease.id, lease.fence, Outcome.RESTART, said, NOT_BEGUN_DELAY_MS)


def unknown(lease: Lease, reason: str = "") -> Settlement:
    """The worker does not know the name, or cannot load its code: the task waits for another worker that can."""
    said = kept(reason or f"no task of this worker is named {lease.name!r} (kind {lease.kind!r}){_IMPORTS}")
    return Settlement(lease.id, lease.fence, Outcome.UNKNOWN, said.encode("utf-8", "replace"), UNKNOWN_DELAY_MS)


def will_be_retried(lease: Lease, settlement: Settlement) -> bool:
    """Whether the broker will retry a failed attempt."""
    return settlement.delay_ms >= 0 and lease.attempt <= lease.retries


def _never(error: BaseException) -> bool:
    return False


def _is_expected(context: Context, error: BaseException) -> bool:
    expected: tuple[type[BaseException], ...] = getattr(context.handler, "expected", ())
    return isinstance(error, expected)


def _retried_errors(handler: Any) -> tuple[type[BaseException], ...]:
    errors: Sequence[type[BaseException]] = getattr(handler, "retry_on", (BaseException,))
    return tuple(errors)


def _delay(lease: Lease) -> int:
    return retry.parse(lease.retry).delay_ms(lease.attempt) if lease.attempt <= lease.retries else 0


def with_limit(context: Context, error: SoftTimeout) -> SoftTimeout:
    """Add the task's time limit to an interrupt that was raised from outside, and has no fields yet."""
    if not error.fields and context.limit_s is not None:
        return SoftTimeout(seconds=round(context.limit_s, 3)).with_traceback(error.__traceback__)
    return error


def _error(
    lease: Lease, outcome: Outcome, error: BaseException, delay_ms: int, *, expected: bool = False
) -> Settlement:
    known = failure.describe(error)
    title = failure.title_of(known)
    fingerprint = "" if expected else known.fingerprint
    return Settlement(
        lease.id,
        lease.fence,
        outcome,
        known.encoded(),
        delay_ms,
        fingerprint=fingerprint,
        title=title,
        expected=expected,
    )
