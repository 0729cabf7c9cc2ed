"""Task execution, step by step: start, middlewares, the task's code, settlement, Django signals.

Middlewares and handlers call the task's code. What they raise is caught here, except what the slot lets pass.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextvars import copy_context
from typing import Any

from asgiref.sync import sync_to_async

from queueops import signals
from queueops.errors import Interrupt
from queueops.model.contracts import Lease, Outcome, Settlement
from queueops.tasks import middleware
from queueops.tasks.context import Context
from queueops.tasks.decisions import Decision
from queueops.worker.execution import db_connections, failure, report, settlements
from queueops.worker.execution.slot import AsyncSlot, Slot

_NOTHING = object()
_monotonic = time.monotonic

logger = logging.getLogger("queueops.worker")


def execute(slot: Slot, context: Context) -> Settlement:
    """Run a task in this thread. Never raises, except what ``slot`` lets pass."""
    lease = context.lease
    value: Any = _NOTHING
    report.started(lease)  # before an interrupt can come, which would leave the locks of logging locked
    try:
        try:
            if not slot.open(lease, context, _monotonic()):
                return report.refused(lease)
            if slot.cleans:
                db_connections.clean()
            if signals.task_started.receivers:
                signals.send(signals.task_started, context)
            value = copy_context().run(middleware.run, context)
        finally:
            slot.close()
        settlement = settlements.returned(context, value)
    except slot.passes:
        slot.clear()
        raise
    except BaseException as error:  # whatever the task's own code raises, SystemExit included
        settlement = _failed(slot, context, value, error)
    else:
        if signals.task_succeeded.receivers or hasattr(context.handler, "tell_end"):
            _tell(slot, context, settlement, value, None)
    report.ended(lease, settlement, slot.seconds(), getattr(context.handler, "words_of_success", None), value)
    if slot.cleans:
        db_connections.clean(lease)
    slot.clear()
    return settlement


async def aexecute(slot: AsyncSlot, context: Context) -> Settlement:
    """The same on the event loop."""
    lease = context.lease
    value: Any = _NOTHING
    report.started(lease)  # before an interrupt can come, which would leave the locks of logging locked
    try:
        try:
            if not slot.open(lease, context, _monotonic()):
                return report.refused(lease)
            if signals.task_started.receivers:
                await signals.asend(signals.task_started, context)
            value = await middleware.arun(context)
        finally:
            slot.close()
            if slot.interrupt is not None:
                slot.own_thread.leave_behind()  # the receivers of signals must not wait there
        settlement = settlements.returned(context, value)
    except slot.passes:
        slot.clear()
        raise
    except BaseException as error:  # whatever the task's own code raises, CancelledError included
        if isinstance(error, asyncio.CancelledError) and slot.interrupt is not None:
            error = slot.interrupt().with_traceback(error.__traceback__)
        settlement = await _afailed(slot, context, value, error)
    else:
        if signals.task_succeeded.receivers or hasattr(context.handler, "tell_end"):
            await _atell(slot, context, settlement, value, None)
    report.ended(lease, settlement, slot.seconds(), getattr(context.handler, "words_of_success", None), value)
    slot.clear()
    return settlement


def tell(context: Context, settlement: Settlement, error: BaseException) -> None:
    """Send the signal about a task that was killed, outside of its slot."""
    try:
        found = _signal(context, settlement, None, error)
        if found is not None:
            signals.send(found[0], context, **found[1])
    except Exception:
        logger.exception("The outcome signal of %s could not be sent", context.id)


def _failed(slot: Slot, context: Context, value: Any, error: BaseException) -> Settlement:
    """Judge and tell the error of a task.

    No frame of the traceback may keep the error. Both would wait for the garbage collector, with the task's variables.
    """
    settlement, cause = _judged(context, value, error)
    _tell(slot, context, settlement, value, cause)
    failure.free_library_frames(cause)
    return settlement


async def _afailed(slot: Slot, context: Context, value: Any, error: BaseException) -> Settlement:
    settlement, cause = _judged(context, value, error)
    await _atell(slot, context, settlement, value, cause)
    failure.free_library_frames(cause)
    return settlement


def _judged(context: Context, value: Any, error: BaseException) -> tuple[Settlement, BaseException]:
    """Return the settlement, and the error to report. A late interrupt is ignored, because the task has returned."""
    has_returned = value is not _NOTHING
    if has_returned and isinstance(error, Interrupt):
        try:
            return settlements.returned(context, value), error
        except Exception as unfit:  # the result cannot be encoded
            return settlements.raised(context, unfit, has_returned=True), unfit
    cause = error.as_raised() if isinstance(error, Decision) else error
    return settlements.raised(context, error, has_returned=has_returned), cause


def _tell(slot: Slot, context: Context, settlement: Settlement, value: Any, error: BaseException | None) -> None:
    try:
        found = _signal(context, settlement, value, error)
        if found is not None:
            signals.send(found[0], context, **found[1])
        if (tell_end := getattr(context.handler, "tell_end", None)) is not None:  # a kind with its own signals
            tell_end(context, settlement)
    except slot.passes:
        raise
    except BaseException:  # SystemExit of a receiver, too: the outcome is known and must not be lost
        logger.exception("The outcome signal of %s could not be sent", context.id)


async def _atell(slot: Slot, context: Context, settlement: Settlement, value: Any, error: BaseException | None) -> None:
    try:
        found = _signal(context, settlement, value, error)
        if found is not None:
            await signals.asend(found[0], context, **found[1])
        if (tell_end := getattr(context.handler, "tell_end", None)) is not None:
            await sync_to_async(tell_end)(context, settlement)  # sync_to_async passes on the exception, too
    except slot.passes:
        raise
    except BaseException:  # SystemExit of a receiver, too: the outcome is known and must not be lost
        logger.exception("The outcome signal of %s could not be sent", context.id)


def _signal(
    context: Context, settlement: Settlement, value: Any, error: BaseException | None
) -> tuple[Any, dict[str, Any]] | None:
    lease: Lease = context.lease
    match settlement.outcome:
        case Outcome.SUCCESS:
            return signals.task_succeeded, {"result": value}
        case Outcome.CANCEL | Outcome.RELEASE if settlement.outcome is Outcome.CANCEL or context.cancel_requested:
            _log_cancelled(context, error)
            return signals.task_cancelled, signals.of_cancelled(context, settlement.value.decode())
        case Outcome.ERROR | Outcome.TIMEOUT if settlements.will_be_retried(lease, settlement):
            return signals.task_retried, {"error": error, "delay": settlement.delay_ms / 1000}
        case Outcome.ERROR | Outcome.TIMEOUT:
            return signals.task_failed, {"error": error, "expected": settlement.expected}
    return None


def _log_cancelled(context: Context, error: BaseException | None) -> None:
    """Log the error of a cancelled task, in the task's log and the worker's log. This is not a failure."""
    if error is None or isinstance(error, Interrupt | asyncio.CancelledError):
        return
    text = f"cancelled, and then raised {failure.title_of(failure.describe(error))}"
    context.log(text)
    lease = context.lease
    told = {"task": lease.id, "name": lease.name, "pool": lease.pool}
    logger.info("%s %s was %s", lease.name, lease.id, text, extra={"told": told})
