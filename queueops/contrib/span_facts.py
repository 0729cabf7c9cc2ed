"""What the spans of Sentry and OpenTelemetry say about a task: the same words in both."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from queueops.errors import Cancelled, Restart, Shutdown, SoftTimeout
from queueops.model.contracts import Push
from queueops.tasks.decisions import Decision, RetryLater
from queueops.worker.execution.failure import type_name

SYSTEM = "queueops"


def of_push(pushes: Sequence[Push]) -> dict[str, Any]:
    """The attributes of a push. The pool is the destination; the id and the size are those of a single task."""
    first = pushes[0]
    found: dict[str, Any] = {"messaging.system": SYSTEM, "messaging.destination.name": first.pool}
    if len({push.name for push in pushes}) == 1:
        found["queueops.task.name"] = first.name
    if len(pushes) > 1:
        return found | {"messaging.batch.message_count": len(pushes)}
    return found | {"messaging.message.id": first.id, "messaging.message.body.size": len(first.args)}


def of_run(context: Any) -> dict[str, Any]:
    """The attributes of one attempt."""
    lease = context.lease
    return {
        "messaging.system": SYSTEM,
        "messaging.destination.name": lease.pool,
        "messaging.message.id": lease.id,
        "messaging.message.body.size": len(lease.args),
        "messaging.message.receive.latency": lease.wait_ms,
        "messaging.message.retry.count": lease.attempt - 1,
        "queueops.task.name": lease.name,
        "queueops.task.kind": lease.kind,
        "queueops.task.root": context.root,
        "queueops.lane": lease.lane,
    }


class Run:
    """One attempt, and how its code ended."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._begun = time.monotonic()

    def seconds(self) -> float:
        """How long it runs."""
        return time.monotonic() - self._begun

    def word(self, error: BaseException | None) -> str:
        """How it ended: ok, expected, cancelled, released or timeout; otherwise the class of its error.

        All of these words are no errors, except timeout. An async task meets the interrupt as CancelledError.
        """
        if error is None:
            return "ok"
        if isinstance(error, asyncio.CancelledError):
            error = getattr(self._context, "interrupt", asyncio.CancelledError)()
        if self._context.cancel_requested or (isinstance(error, Cancelled) and not self._context.lost):
            return "cancelled"
        if isinstance(error, Restart | Shutdown | Cancelled):
            return "released"
        if isinstance(error, SoftTimeout):
            return "timeout"
        raised = error.as_raised() if isinstance(error, Decision) else error
        if not isinstance(error, RetryLater) and isinstance(raised, getattr(self._context.handler, "expected", ())):
            return "expected"
        return type_name(raised)


NO_ERRORS = ("ok", "expected", "cancelled", "released")
"""The words of ends that are no errors."""
