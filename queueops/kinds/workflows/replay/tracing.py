"""OpenTelemetry spans of workflows. Without the package `opentelemetry-api`, nothing is made.

The trace context of a start is stored with its run, in the field of the trace. A span of a run has an id that is
derived from the run, so that each replay and each worker knows it. The step that ends a span exports it.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from queueops.kinds.workflows.replay.step import MadeSpan, RunInfo

otel: Any
"""The module `opentelemetry.trace`; None if the extra "opentelemetry" is not installed."""
_propagator: Any
try:
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    otel = _propagator = None
else:
    otel, _propagator = trace, TraceContextTextMapPropagator()

RUN = "run"
"""The key of the span of a run; others are keys of commands and of `wf.span`."""
open_span: ContextVar[str] = ContextVar("open_span", default=RUN)
"""The key of the innermost open `wf.span` of the code."""
NAME = "queueops"


class _Ids(NamedTuple):
    """An id generator of the SDK that gives one span the id that is derived from its run."""

    trace: int
    span: int

    def generate_trace_id(self) -> int:
        return self.trace

    def generate_span_id(self) -> int:
        return self.span

    def is_trace_id_random(self) -> bool:
        return True


def started(name: str, instance: str) -> str:
    """A span of a start; the trace context for the run. Empty without the package, and without a tracer."""
    if not _is_on():
        return ""
    with otel.get_tracer(NAME).start_as_current_span(
        f"CreateWorkflowInstance: {name}", kind=otel.SpanKind.PRODUCER, attributes={"queueops.instance": instance}
    ):
        return _current()


@contextmanager
def sending(name: str, instance: str) -> Iterator[None]:
    """The span of a signal that is sent."""
    if not _is_on():
        yield
        return
    attributes = {"queueops.instance": instance}
    with otel.get_tracer(NAME).start_as_current_span(
        f"SignalWorkflow: {name}", kind=otel.SpanKind.PRODUCER, attributes=attributes
    ):
        yield


@contextmanager
def activity(name: str, context: str, id: str, attempt: int) -> Iterator[None]:
    """The span of one attempt of an activity; spans of its code are children of it."""
    if otel is None or not context:
        yield
        return
    attributes = {"queueops.task": id, "queueops.attempt": attempt}
    with otel.get_tracer(NAME).start_as_current_span(
        f"ActivityTaskExecution: {name}", _parent(context), kind=otel.SpanKind.CONSUMER, attributes=attributes
    ):
        yield


def context_of(info: RunInfo, key: str) -> str:
    """The trace context of a span of a run, without the package that of its start; empty if the run is not traced."""
    if otel is None or not info.trace:
        return info.trace
    version, trace, _, flags = info.trace.split("-")
    return f"{version}-{trace}-{_id(info, key):016x}-{flags}"


def export(info: RunInfo, spans: Sequence[MadeSpan]) -> None:
    """Export the spans that a step has ended."""
    if otel is None or not info.trace:
        return
    for made in spans:
        context = info.trace if made.key == RUN else context_of(info, made.parent)
        tracer: Any = _with_id(otel.get_tracer(NAME), info, made.key)
        links = [otel.Link(_span_context(link)) for link in made.links]
        attributes = {"queueops.run": info.id, "queueops.instance": info.instance, **made.attributes}
        span = tracer.start_span(
            made.name, _parent(context), attributes=attributes, links=links, start_time=1_000_000 * made.begun_ms
        )
        if made.error:
            span.set_status(otel.StatusCode.ERROR, made.error)
        span.end(1_000_000 * made.ended_ms)


def run_link(info: RunInfo, run: str) -> str:
    """The trace context of the span of another run of the instance."""
    earlier = RunInfo(id=run, name=info.name, instance=info.instance, trace=info.trace)
    return context_of(earlier, RUN)


def _is_on() -> bool:
    """Whether a span would be told to anything: a tracer is set up, or the caller is in a span of another process."""
    if otel is None:
        return False
    is_unset = isinstance(otel.get_tracer_provider(), otel.ProxyTracerProvider)
    return not (is_unset and otel.get_current_span() is otel.INVALID_SPAN)


def _id(info: RunInfo, key: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"{info.id} {key}".encode(), digest_size=8).digest()) or 1


def _with_id(tracer: Any, info: RunInfo, key: str) -> Any:
    """A tracer of the SDK that gives the span the derived id; another tracer as it is."""
    tracer = getattr(tracer, "_tracer", tracer)  # behind the proxy of the API
    if not hasattr(tracer, "id_generator"):
        return tracer
    own = copy.copy(tracer)
    own.id_generator = _Ids(int(info.trace.split("-")[1], 16), _id(info, key))
    return own


def _current() -> str:
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    return carrier.get("traceparent", "")


def _parent(context: str) -> Any:
    return _propagator.extract({"traceparent": context})


def _span_context(context: str) -> Any:
    return otel.get_current_span(_parent(context)).get_span_context()
