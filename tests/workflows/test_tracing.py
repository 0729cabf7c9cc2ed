"""Spans of OpenTelemetry: each is made once, though its code is replayed, and has the right parent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from queueops import activity, wf, workflow
from queueops.errors import TaskFailed
from queueops.kinds.workflows.replay import tracing
from queueops.redis.broker import get_broker
from queueops.testing import run_worker

pytestmark = pytest.mark.usefixtures("memory")

_exporter = InMemorySpanExporter()


@activity(name="traced.add", retries=0)
def add(one: int) -> int:
    """Makes a span of its own."""
    with otel.get_tracer("project").start_as_current_span("inside the activity"):
        return one + 1


@activity(name="traced.aadd", retries=0)
async def aadd(one: int) -> int:
    """The same, async."""
    with otel.get_tracer("project").start_as_current_span("inside the activity"):
        await asyncio.sleep(0)
        return one + 1


@workflow(name="traced.run")
async def run(rounds: int) -> int:
    """Activities, a signal and a timer, each in the trace of the run."""
    found = await wf.call(add, rounds) + await wf.call(aadd, rounds)
    await wf.signal("go")
    await wf.sleep(0.01)
    return found


@workflow(name="traced.spans")
async def spans() -> None:
    """Timers and calls within spans of the code."""
    with wf.span("outer"):
        await wf.sleep(0.01)
        with wf.span("inner"):
            await wf.sleep(0.01)
            await wf.call(add, 1)


@workflow(name="traced.parent")
async def parent() -> int:
    """A child in a span."""
    with wf.span("around the child"):
        return await wf.child(child)


@workflow(name="traced.child")
async def child() -> int:
    """A child that calls an activity, and continues as new once."""
    found = await wf.call(add, 1)
    if not wf.info().parent or found:
        await wf.sleep(0.01)
    return found


@workflow(name="traced.again")
async def again(left: int) -> int:
    """Continues as new."""
    if left:
        wf.continue_as_new(left - 1)
    return left


@workflow(name="traced.fails")
async def fails() -> None:
    """Fails."""
    raise ValueError("no such order")


@pytest.fixture(autouse=True)
def exported() -> Iterator[None]:
    """The spans of one test."""
    if not isinstance(provider := otel.get_tracer_provider(), TracerProvider):
        provider = TracerProvider(shutdown_on_exit=False)
        otel.set_tracer_provider(provider)
    processor = SimpleSpanProcessor(_exporter)
    provider.add_span_processor(processor)  # another file may have set the provider
    _exporter.clear()
    yield
    active = provider._active_span_processor  # the SDK removes none
    active._span_processors = tuple(each for each in active._span_processors if each is not processor)
    _exporter.clear()


def ended(handle: Any) -> Any:
    """The result of a run."""
    for _ in range(400):
        run_worker()
        if handle.state in ("succeeded", "failed"):
            return handle.result(timeout=0)
        asyncio.run(asyncio.sleep(0.005))
    raise AssertionError(handle.state)


def found(name: str) -> list[ReadableSpan]:
    """The exported spans of a name."""
    return [span for span in _exporter.get_finished_spans() if span.name == name]


def one(name: str) -> ReadableSpan:
    """The only span of a name."""
    (span,) = found(name)
    return span


def is_child(span: ReadableSpan, of: ReadableSpan) -> bool:
    """Whether a span is in the trace of another one, directly below it."""
    assert span.parent is not None
    return (span.parent.span_id, span.context.trace_id) == (of.context.span_id, of.context.trace_id)


def test_a_run_and_its_activities_have_spans() -> None:
    with otel.get_tracer("project").start_as_current_span("request"):
        handle = run.start(1)
    run_worker()
    handle.signal("go")
    assert ended(handle) == 4
    created, whole = one("CreateWorkflowInstance: traced.run"), one("Workflow: traced.run")
    assert is_child(created, one("request"))
    assert is_child(whole, created)
    assert whole.attributes is not None
    assert (whole.attributes["queueops.run"], whole.attributes["queueops.state"]) == (handle.id, "succeeded")
    executions = [one("ActivityTaskExecution: traced.add"), one("ActivityTaskExecution: traced.aadd")]
    assert all(is_child(span, whole) for span in executions)
    insides = found("inside the activity")
    assert [is_child(span, execution) for span, execution in zip(insides, executions, strict=True)] == [True, True]
    assert is_child(one("Signal: go"), whole)
    assert one("SignalWorkflow: go").kind is otel.SpanKind.PRODUCER


def test_a_timer_has_a_span_of_its_time() -> None:
    handle = run.start(1)
    run_worker()
    handle.signal("go")
    ended(handle)
    timer = one("Timer")
    assert is_child(timer, one("Workflow: traced.run"))
    assert timer.start_time is not None
    assert timer.end_time is not None
    assert timer.end_time - timer.start_time >= 10_000_000


def test_timers_and_calls_within_a_span_of_the_code_are_its_children() -> None:
    ended(spans.start())
    outer, inner = one("outer"), one("inner")
    assert is_child(outer, one("Workflow: traced.spans"))
    assert is_child(inner, outer)
    assert [is_child(timer, span) for timer, span in zip(found("Timer"), (outer, inner), strict=True)] == [True, True]
    assert is_child(one("ActivityTaskExecution: traced.add"), inner)


def test_the_span_of_a_child_is_below_that_of_its_parent() -> None:
    ended(parent.start())
    around = one("around the child")
    assert is_child(around, one("Workflow: traced.parent"))
    below = one("Workflow: traced.child")
    assert is_child(below, around)
    assert is_child(one("ActivityTaskExecution: traced.add"), below)


def test_a_run_that_continues_as_new_is_linked_with_the_next_one() -> None:
    ended(again.start(1))
    first, last = found("Workflow: traced.again")
    assert [link.context.span_id for link in first.links] == [last.context.span_id]
    assert not last.links


def test_a_run_that_fails_has_its_error() -> None:
    with pytest.raises(TaskFailed):
        ended(fails.start())
    span = one("Workflow: traced.fails")
    assert (span.status.status_code, span.status.description) == (otel.StatusCode.ERROR, "ValueError: no such order")


def test_without_the_package_a_run_has_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "otel", None)
    handle = spans.start()
    assert get_broker().record("default", handle.id).trace == ""  # type: ignore[union-attr]
    ended(handle)
    assert {span.name for span in _exporter.get_finished_spans()} == {"inside the activity"}  # which the project makes


def test_without_a_tracer_no_span_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(otel, "get_tracer_provider", otel.ProxyTracerProvider)
    monkeypatch.setattr(otel, "get_tracer", asked.append)
    handle = spans.start()
    assert get_broker().record("default", handle.id).trace == ""  # type: ignore[union-attr]
    assert asked == []


def test_without_a_tracer_the_trace_of_the_caller_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otel, "get_tracer_provider", otel.ProxyTracerProvider)
    monkeypatch.setattr(otel, "get_tracer", lambda name: otel.NoOpTracer())
    far = otel.SpanContext(trace_id=0x1234, span_id=0x5678, is_remote=True)
    with otel.use_span(otel.NonRecordingSpan(far)):
        handle = spans.start()
    assert f"{0x1234:032x}-{0x5678:016x}" in get_broker().record("default", handle.id).trace  # type: ignore[union-attr]
