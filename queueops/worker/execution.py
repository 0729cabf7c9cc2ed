"""One execution of one task, step by step: start, run through the middlewares, settle, tell the receivers of signals.

This is the one place where a task's code is called, so everything that it may raise is caught here, and only here.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextvars import copy_context
from typing import Any

from queueops import middleware, signals
from queueops.context import Context
from queueops.contracts import Lease, Outcome, Settlement
from queueops.errors import Cancelled, Interrupt
from queueops.worker import hygiene, outcome
from queueops.worker.slot import AsyncSlot, Slot

_NOTHING = object()
_monotonic = time.monotonic
_SUCCESS = Outcome.SUCCESS

logger = logging.getLogger("queueops.worker")


def execute(slot: Slot, context: Context) -> Settlement:
    """Run a task in this thread. Never raises, whatever the task does."""
    lease = context.lease
    value: Any = _NOTHING
    try:
        try:
            slot.open(lease, context, _monotonic())
            hygiene.clean()
            if signals.task_started.receivers:
                signals.send(signals.task_started, context)
            value = copy_context().run(middleware.run, context)
        finally:
            slot.close()
    except BaseException as error:  # whatever the task's own code raises, SystemExit included
        settlement = _judged(context, value, error)
        _tell(context, settlement, value, error)
    else:
        settlement = outcome.returned(lease, value)
        if signals.task_succeeded.receivers:
            _tell(context, settlement, value, None)
    hygiene.clean()
    slot.clear()
    return settlement


async def aexecute(slot: AsyncSlot, context: Context) -> Settlement:
    """The same on the event loop."""
    lease = context.lease
    value: Any = _NOTHING
    try:
        try:
            slot.open(lease, context, _monotonic())
            if signals.task_started.receivers:
                await signals.asend(signals.task_started, context)
            value = await middleware.arun(context)
        finally:
            slot.close()
            if slot.interrupt is not None:
                slot.annexe.leave_behind()  # or receivers of signals would wait there
    except BaseException as error:  # whatever the task's own code raises, CancelledError included
        if isinstance(error, asyncio.CancelledError) and slot.interrupt is not None:
            error = slot.interrupt().with_traceback(error.__traceback__)
        settlement = _judged(context, value, error)
        await _atell(context, settlement, value, error)
    else:
        settlement = outcome.returned(lease, value)
        if signals.task_succeeded.receivers:
            await _atell(context, settlement, value, None)
    slot.clear()
    return settlement


def _judged(context: Context, value: Any, error: BaseException) -> Settlement:
    """An interrupt that came after the last line of the task came too late: the task has returned."""
    if value is not _NOTHING and isinstance(error, Interrupt):
        return outcome.returned(context.lease, value)
    return outcome.raised(context, error)


def _tell(context: Context, settlement: Settlement, value: Any, error: BaseException | None) -> None:
    try:
        found = _signal(context, settlement, value, error)
        if found is not None:
            signals.send(found[0], context, **found[1])
    except BaseException:  # SystemExit of a receiver, too: the outcome is known, and must not be lost
        logger.exception("What became of %s could not be told to the receivers of signals", context.id)


async def _atell(context: Context, settlement: Settlement, value: Any, error: BaseException | None) -> None:
    try:
        found = _signal(context, settlement, value, error)
        if found is not None:
            await signals.asend(found[0], context, **found[1])
    except BaseException:  # the same
        logger.exception("What became of %s could not be told to the receivers of signals", context.id)


def _signal(
    context: Context, settlement: Settlement, value: Any, error: BaseException | None
) -> tuple[Any, dict[str, Any]] | None:
    lease: Lease = context.lease
    match settlement.outcome:
        case Outcome.SUCCESS:
            return signals.task_succeeded, {"result": value}
        case Outcome.CANCEL:
            reason = error.fields.get("reason", "") if isinstance(error, Cancelled) else ""
            return signals.task_cancelled, {"reason": reason or context.cancel_reason}
        case Outcome.ERROR | Outcome.TIMEOUT if outcome.will_be_retried(lease, settlement):
            _log(lease, settlement, "will be tried again")
            return signals.task_retried, {"error": error, "delay": settlement.delay_ms / 1000}
        case Outcome.ERROR | Outcome.TIMEOUT:
            _log(lease, settlement, "failed")
            return signals.task_failed, {"error": error}
    return None


def _log(lease: Lease, settlement: Settlement, what: str) -> None:
    told = {"task": lease.id, "name": lease.name, "pool": lease.pool, "error": settlement.title,
            "attempt": lease.attempt, "attempts": lease.retries + 1}  # fmt: skip
    logger.warning(
        "%s %s %s: %s (attempt %d of %d)",
        lease.name, lease.id, what, settlement.title, lease.attempt, lease.retries + 1, extra={"told": told},
    )  # fmt: skip
