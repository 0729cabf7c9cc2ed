"""Spans and metrics of pushes and attempts, by OpenTelemetry's conventions for messaging."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry import metrics, propagate, trace
from opentelemetry.context import Context as TraceContext

from queueops.contrib.opentelemetry.instruments import Instruments
from queueops.contrib.span_facts import NO_ERRORS, Run, of_push, of_run
from queueops.model import observers
from queueops.model.contracts import Push, Settlement
from queueops.model.kinds import PARTS
from queueops.model.trace_context import LINKED, TRACEPARENT
from queueops.worker.execution.failure import type_name

NAME = "queueops"


class OpenTelemetry:
    """Follows tasks with the tracer and the meter that the project has set up. Without any, nothing is made."""

    def __init__(self) -> None:
        self._tracer = trace.get_tracer(NAME)
        self._instruments = Instruments(metrics.get_meter(NAME))

    @contextmanager
    def publishing(self, pushes: Sequence[Push], headers: dict[str, str]) -> Iterator[None]:
        """The span of a push. Its context goes with the tasks."""
        facts = of_push(pushes)
        said = {"messaging.operation.name": "push", "messaging.operation.type": "send", **facts}
        with (
            self._instruments.pushed(facts, len(pushes)),
            self._span(f"push {pushes[0].pool}", trace.SpanKind.PRODUCER, said) as span,
        ):
            propagate.inject(headers)
            try:
                yield
            except BaseException as error:
                _tell_end(span, type_name(error))
                raise

    @contextmanager
    def running(self, context: Any) -> Iterator[None]:
        """The span of an attempt. Steps and activities of workflows have spans of their own."""
        run, facts = Run(context), of_run(context)
        if getattr(context.handler, "makes_spans", False):
            with self._instruments.processed(run, facts):
                yield
            return
        said = {"messaging.operation.name": "process", "messaging.operation.type": "process", **facts}
        with (
            self._instruments.processed(run, facts),
            self._span(f"process {context.pool}", trace.SpanKind.CONSUMER, said, **_origin(context.lease)) as span,
        ):
            try:
                yield
            except BaseException as error:
                _tell_end(span, run.word(error))
                raise

    def _span(self, name: str, kind: trace.SpanKind, attributes: dict[str, Any], **origin: Any) -> Any:
        """A span that does not record what an exception says."""
        return self._tracer.start_as_current_span(
            name,
            kind=kind,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
            **origin,
        )

    def failed(self, error: BaseException) -> None:
        """The span of a run has its error."""

    def killed(self, pool: str, ends: Mapping[str, Settlement]) -> None:
        """The spans of a killed process are lost with it."""

    def close(self, seconds: float) -> None:
        """Export what the processors hold."""
        for provider in (trace.get_tracer_provider(), metrics.get_meter_provider()):
            flush = getattr(provider, "force_flush", None)
            if flush is not None:
                flush(round(500 * seconds))


def _origin(lease: Any) -> dict[str, Any]:
    """The parent of an attempt's span is the push. One of many tasks has a trace of its own, linked with the push."""
    headers = observers.headers_of(lease)
    if TRACEPARENT not in headers:
        return {"context": TraceContext()}
    found = propagate.extract(headers)
    if LINKED not in headers and lease.kind not in PARTS:
        return {"context": found}
    return {"context": TraceContext(), "links": [trace.Link(trace.get_current_span(found).get_span_context())]}


def _tell_end(span: trace.Span, word: str) -> None:
    """An error has its class. Its text stays out: it may quote any value."""
    if word in NO_ERRORS:
        span.set_attribute("queueops.outcome", word)
    else:
        span.set_attribute("error.type", word)
        span.set_status(trace.StatusCode.ERROR, word)
