"""Transactions of attempts, spans of pushes, and events of failed tasks."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import sentry_sdk
from sentry_sdk.integrations.logging import ignore_logger
from sentry_sdk.scope import Scope, use_isolation_scope
from sentry_sdk.utils import event_from_exception

from queueops import conf, signals
from queueops.contrib.sentry import monitors
from queueops.contrib.sentry.events import completed_event, event_of_killed
from queueops.contrib.span_facts import Run, of_push, of_run
from queueops.errors import TaskFailed
from queueops.logs import FOREIGN
from queueops.model import observers
from queueops.model.contracts import Push, Settlement
from queueops.model.trace_context import LINKED, TRACEPARENT

ORIGIN = "auto.queue.queueops"
TRANSACTION = "queue.task.queueops"
_STATUS = {
    "ok": "ok",
    "expected": "ok",
    "cancelled": "cancelled",
    "released": "aborted",
    "timeout": "deadline_exceeded",
}
_SAMPLED = {"1": "01", "0": "00"}


class Kept(NamedTuple):
    """The scope of an attempt, until it is known whether its task has failed; and its place in the trace."""

    scope: Scope
    trace: dict[str, Any]


class Sentry:
    """Follows tasks for the client that the project has set up. Without any, nothing is made."""

    def __init__(self) -> None:
        signals.task_failed.connect(_failed, dispatch_uid="queueops.contrib.sentry")
        signals.task_retried.connect(_retried, dispatch_uid="queueops.contrib.sentry")
        signals.task_cancelled.connect(_cancelled, dispatch_uid="queueops.contrib.sentry")
        for name in FOREIGN:
            ignore_logger(name)  # the failure of a task is one event
        sentry_sdk.get_global_scope().add_event_processor(_unless_supervisor)

    @contextmanager
    def publishing(self, pushes: Sequence[Push], headers: dict[str, str]) -> Iterator[None]:
        """The span of a push. Its trace goes with the tasks."""
        if not sentry_sdk.get_client().is_active():
            yield
            return
        with sentry_sdk.start_span(op="queue.publish", name=pushes[0].name, origin=ORIGIN) as span:
            for name, value in of_push(pushes).items():
                span.set_data(name, value)
            _add_headers(headers)
            yield

    @contextmanager
    def running(self, context: Any) -> Iterator[None]:
        """The transaction of an attempt, in a scope of its own."""
        if not sentry_sdk.get_client().is_active():
            yield
            return
        run, lease = Run(context), context.lease
        with sentry_sdk.isolation_scope() as scope:
            scope.clear_breadcrumbs()
            scope.set_tags({"queueops.task": lease.id, "queueops.name": lease.name, "queueops.pool": lease.pool})
            scope.add_event_processor(partial(completed_event, context))
            made = sentry_sdk.continue_trace(
                _headers(lease), op=TRANSACTION, name=lease.name, source="task", origin=ORIGIN
            )
            sampling = {"queueops": of_run(context)}
            with sentry_sdk.start_transaction(made, custom_sampling_context=sampling) as whole:
                raised = yield from _processed(context, run, scope, whole)
            if raised is None:
                monitors.end(context, "ok")
                return
            try:
                raise raised
            finally:
                del raised  # its frame would keep it

    def failed(self, error: BaseException) -> None:
        """The event of a run. An activity or a child that failed it has an event of its own."""
        if sentry_sdk.get_client().is_active() and not isinstance(error, TaskFailed):
            event, hint = _event_of(error)
            sentry_sdk.capture_event(event, hint=hint)

    def killed(self, pool: str, ends: Mapping[str, Settlement]) -> None:
        """An event for each task that a killed process ran: its code could tell nothing."""
        for id, end in ends.items():
            if event := event_of_killed(pool, id, end):
                sentry_sdk.capture_event(event)

    def close(self, seconds: float) -> None:
        """Send what waits."""
        sentry_sdk.flush(timeout=seconds)


def _processed(context: Any, run: Run, scope: Scope, whole: Any) -> Generator[None, None, BaseException | None]:
    """The span of the code; returns its error. One that left the blocks would make each of them a failed one."""
    monitors.begin(context)
    with sentry_sdk.start_span(op="queue.process", name=context.lease.name, origin=ORIGIN) as span:
        for name, value in of_run(context).items():
            span.set_data(name, value)
        context.observed = Kept(scope, span.get_trace_context())
        raised: BaseException | None = None
        try:
            yield
        except BaseException as error:
            raised = error
        for each in (span, whole):
            each.set_status(_STATUS.get(run.word(raised), "internal_error"))
    return raised


def _add_headers(headers: dict[str, str]) -> None:
    """The trace of the current span, for Sentry itself and for others, and for the link of the console."""
    own, baggage = sentry_sdk.get_traceparent(), sentry_sdk.get_baggage()
    if not own:
        return
    trace, span, *sampled = own.split("-")
    headers.setdefault(TRACEPARENT, f"00-{trace}-{span}-{_SAMPLED.get(sampled[0] if sampled else '', '01')}")
    headers["sentry-trace"] = own
    if baggage:
        headers["baggage"] = ",".join(filter(None, (headers.get("baggage"), baggage)))


def _headers(lease: Any) -> dict[str, str]:
    """What continues the trace. A run's own span, which a workflow derives, is in the W3C header alone."""
    headers = observers.headers_of(lease)
    headers.pop(LINKED, None)
    if "sentry-trace" not in headers and TRACEPARENT in headers:
        _, trace, span, flags = headers[TRACEPARENT].split("-")
        headers["sentry-trace"] = f"{trace}-{span}-{int(flags, 16) & 1}"
    return headers


def _unless_supervisor(event: Any, hint: Any) -> Any:
    """Drop what a supervisor logs. To send it would start a thread, and a supervisor forks.

    The process that gives the tasks back reports them.
    """
    return None if observers.is_supervisor() else event


def _failed(sender: Any, context: Any, error: BaseException, expected: bool = False, **_: Any) -> None:
    """The task has failed: report it in the scope of its last attempt, unless the task expects the error."""
    if not expected:
        _capture(context, error)
    monitors.end(context, "ok" if expected else "error")


def _retried(sender: Any, context: Any, error: BaseException, **_: Any) -> None:
    if conf.current().sentry.retries:
        _capture(context, error)


def _cancelled(sender: Any, context: Any, **_: Any) -> None:
    monitors.end(context, "ok")


def _capture(context: Any, error: BaseException) -> None:
    kept = getattr(context, "observed", None)
    if not isinstance(kept, Kept):  # the client was set up meanwhile
        return
    event, hint = _event_of(error)
    event["transaction"] = context.lease.name
    event["contexts"] = {"trace": kept.trace}
    with use_isolation_scope(kept.scope):
        sentry_sdk.capture_event(event, hint=hint)


def _event_of(error: BaseException) -> tuple[Any, Any]:
    mechanism = {"type": "queueops", "handled": False}
    return event_from_exception(error, client_options=sentry_sdk.get_client().options, mechanism=mechanism)
