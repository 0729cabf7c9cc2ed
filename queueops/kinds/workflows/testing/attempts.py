"""Attempt of an activity in the test environment: runs it here, and judges its end as a worker does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec

from queueops.errors import Interrupt, SoftTimeout
from queueops.errors.workflows import EventLoopBlocked
from queueops.kinds.workflows import events
from queueops.kinds.workflows.awaited import as_task, value_of
from queueops.kinds.workflows.events import Entry
from queueops.kinds.workflows.testing.memory_run import failed
from queueops.model.contracts import Outcome, Push
from queueops.tasks import middleware, registry
from queueops.tasks.context import Context, current
from queueops.tasks.decisions import Decision
from queueops.worker.execution import settlements

TASK = "task"


class NextAttempt(NamedTuple):
    """The activity has not ended: its next attempt, and the milliseconds until then."""

    delay_ms: int
    attempt: int


def time_of(push: Push, takes_ms: int) -> int:
    """How long an attempt takes, in milliseconds: at most its time limit."""
    return takes_ms if push.timeout_ms is None else min(takes_ms, push.timeout_ms)


def attempted(
    number: int, push: Push, attempt: int, mock: Callable[..., Any] | None, takes_ms: int
) -> Entry | NextAttempt:
    """Make an attempt of the activity of a command. ``mock`` runs in its place, and takes so many milliseconds.

    Raises Shutdown, KeyboardInterrupt and EventLoopBlocked: these end no attempt.
    """
    handler: Any = registry.get(TASK, push.name)
    with as_task(push, handler, attempt):
        context, has_returned = current(), False
        try:
            if time_of(push, takes_ms) < takes_ms:
                raise SoftTimeout(seconds=context.limit_s)
            value = value_of(partial(_called, context, mock))
            has_returned = True
            end = settlements.returned(context, value)
        except EventLoopBlocked:
            raise
        except (Exception, Interrupt, Decision, SystemExit) as error:  # the code of an activity runs here
            return _judged(number, context, error, has_returned=has_returned)
    return Entry("done", command=number, payload=events.raw(end.value))


def _called(context: Context, mock: Callable[..., Any] | None) -> Any:
    """What the mock gives, or the activity with its middlewares: a value, a coroutine or a generator."""
    handler: Any = context.handler
    if mock is not None:
        args, kwargs = handler.plan.decode(context.lease.args)
        return mock(*args, **kwargs)
    return middleware.arun(context) if handler.is_async else middleware.run(context)


def _judged(number: int, context: Context, error: BaseException, *, has_returned: bool) -> Entry | NextAttempt:
    end = settlements.raised(context, error, has_returned=has_returned)
    match end.outcome:
        case Outcome.RESTART:
            return NextAttempt(end.delay_ms, context.attempt + end.counted)
        case Outcome.CANCEL:
            return Entry("failed", command=number, state="cancelled", reason=end.value.decode())
        case Outcome.RELEASE:
            raise error
        case Outcome.QUARANTINE:
            return failed(number, error)
    if settlements.will_be_retried(context.lease, end):
        return NextAttempt(end.delay_ms, context.attempt + 1)
    return Entry("failed", command=number, error=msgspec.Raw(end.value))
