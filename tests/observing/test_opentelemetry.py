"""OpenTelemetry, with its own SDK: which spans a push and an attempt have, how they belong together, and metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from queueops import chain, get, group, schedules
from queueops.contrib.opentelemetry.observer import OpenTelemetry
from queueops.model import observers
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.observing import tasks

exporter = InMemorySpanExporter()
reader = InMemoryMetricReader(dict.fromkeys((Counter, Histogram), AggregationTemporality.DELTA))


@pytest.fixture(autouse=True)
def observed(namespace: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not isinstance(provider := trace.get_tracer_provider(), TracerProvider):
        provider = TracerProvider(shutdown_on_exit=False)
        trace.set_tracer_provider(provider)
    if not isinstance(metrics.get_meter_provider(), MeterProvider):
        metrics.set_meter_provider(MeterProvider([reader], shutdown_on_exit=False))
    processor = SimpleSpanProcessor(exporter)
    provider.add_span_processor(processor)
    monkeypatch.setattr(observers, "registered", [OpenTelemetry()])
    exporter.clear()
    yield
    active = provider._active_span_processor  # the SDK removes none
    active._span_processors = tuple(each for each in active._span_processors if each is not processor)


def spans(kind: SpanKind) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.kind is kind]


def facts(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def is_child(span: ReadableSpan, of: ReadableSpan) -> bool:
    assert span.parent is not None
    return (span.parent.span_id, span.context.trace_id) == (of.context.span_id, of.context.trace_id)


def trace_of(handle: Any) -> str:
    record = get_broker().record(handle.pool, handle.id)
    assert record is not None
    return record.trace


def test_a_task_continues_the_trace_of_the_request_that_pushed_it() -> None:
    with trace.get_tracer("project").start_as_current_span("request"):
        handles = [tasks.add.push(1, 2), tasks.aadd.push(3)]
    run_worker()
    assert [handle.result(timeout=0) for handle in handles] == [3, 3]
    (request,) = spans(SpanKind.INTERNAL)
    pushes, runs = spans(SpanKind.PRODUCER), spans(SpanKind.CONSUMER)
    assert [is_child(span, request) for span in pushes] == [True, True]
    by_id = {facts(span)["messaging.message.id"]: span for span in runs}
    for handle, pushed in zip(handles, pushes, strict=True):
        assert is_child(by_id[handle.id], pushed)
        assert facts(pushed)["messaging.message.id"] == handle.id
    assert [(span.name, facts(span)["messaging.operation.type"]) for span in (pushes[0], runs[0])] == [
        ("push default", "send"),
        ("process default", "process"),
    ]
    of_run = facts(by_id[handles[0].id])
    assert of_run | {"messaging.message.receive.latency": 0} == {
        "messaging.system": "queueops",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "default",
        "messaging.message.id": handles[0].id,
        "messaging.message.body.size": len("[[1,2],{}]"),
        "messaging.message.receive.latency": 0,
        "messaging.message.retry.count": 0,
        "queueops.task.name": "observed.add",
        "queueops.task.kind": "task",
        "queueops.task.root": handles[0].id,
        "queueops.lane": "default",
    }
    of_push = f"00-{pushes[0].context.trace_id:032x}-{pushes[0].context.span_id:016x}-"
    assert trace_of(handles[0])[:-2] == of_push


def test_what_a_task_pushes_and_the_parts_of_a_chain_are_in_its_trace() -> None:
    outer = tasks.parent.push()
    parts = chain(tasks.add.s(1), tasks.add.s(1)).push()
    run_worker()
    assert parts.result(timeout=0) == 2
    ids = {facts(span)["messaging.message.id"]: span for span in spans(SpanKind.CONSUMER)}
    inner, first = outer.result(timeout=0), ids[outer.id]
    pushed = next(span for span in spans(SpanKind.PRODUCER) if span.parent and is_child(span, first))
    assert is_child(ids[inner], pushed)
    whole = next(span for span in spans(SpanKind.PRODUCER) if facts(span).get("messaging.batch.message_count") == 3)
    assert sum(span.parent is not None and is_child(span, whole) for span in ids.values()) == 2


def test_parts_that_a_running_task_emits_or_adds_belong_to_it() -> None:
    grown = group(tasks.grows.s()).push()
    schedules.create(tasks.Two, "@daily", id="two")
    runs = {"grows": grown.id, "two": schedules.run_now("two")}
    emitted = tasks.Emits.push()
    run_worker()
    assert {get(id).state for id in (*runs.values(), emitted.id)} == {"succeeded"}
    pushes, found = spans(SpanKind.PRODUCER), spans(SpanKind.CONSUMER)
    for name, parts in (("observed.grows", 1), ("observed.two", 2)):
        first = next(span for span in found if facts(span)["queueops.task.name"] == name)
        pushed = next(span for span in pushes if span.parent and is_child(span, first))
        assert sum(bool(span.parent) and is_child(span, pushed) for span in found) == parts, name
    emits = next(span for span in found if facts(span)["queueops.task.name"] == "observed.emits")
    pushed = next(span for span in pushes if span.parent and is_child(span, emits))
    linked = [span for span in found if [link.context.span_id for link in span.links] == [pushed.context.span_id]]
    assert len({span.context.trace_id for span in linked}) == 2


def test_each_of_many_tasks_and_each_chunk_has_a_trace_of_its_own_with_a_link_to_the_push() -> None:
    tasks.add.push_many([(number,) for number in range(3)])
    run_worker()
    (pushed,) = spans(SpanKind.PRODUCER)
    assert facts(pushed)["messaging.batch.message_count"] == 3
    runs = spans(SpanKind.CONSUMER)
    assert [[link.context.span_id for link in span.links] for span in runs] == [[pushed.context.span_id]] * 3
    assert len({span.context.trace_id for span in runs} | {pushed.context.trace_id}) == 4
    exporter.clear()
    assert tasks.Sums.push([1, 2]).state == "pending"
    run_worker()
    (pushed,) = spans(SpanKind.PRODUCER)
    by_kind = [facts(span)["queueops.task.kind"] for span in spans(SpanKind.CONSUMER)]
    assert sorted(by_kind) == ["chunk", "chunk", "mapreduce", "mapreduce"]
    for span in spans(SpanKind.CONSUMER):
        is_chunk = facts(span)["queueops.task.kind"] == "chunk"
        assert [link.context.span_id for link in span.links] == [pushed.context.span_id] * is_chunk
        assert is_chunk or is_child(span, pushed)


def test_an_error_has_its_class_and_not_its_text_and_a_cancel_is_no_error() -> None:
    for each in (tasks.stops, tasks.waits, tasks.restarts, tasks.expects):
        each.push()
    tasks.fails.push("ada", "hunter2")
    run_worker()
    found = {}
    for span in spans(SpanKind.CONSUMER):
        found.setdefault(facts(span)["queueops.task.name"], []).append(span)
    error = "tests.observing.tasks.Observed"
    failed = found["observed.fails"]
    assert [facts(span)["messaging.message.retry.count"] for span in failed] == [0, 1]
    assert {(span.status.status_code, span.status.description) for span in failed} == {(StatusCode.ERROR, error)}
    assert {facts(span)["error.type"] for span in failed} == {error}
    assert [span.events for span in failed] == [(), ()]
    words = {"stops": "cancelled", "waits": "cancelled", "restarts": "released", "expects": "expected"}
    for name, word in words.items():
        span = found[f"observed.{name}"][0]
        assert (facts(span)["queueops.outcome"], span.status.status_code) == (word, StatusCode.UNSET)
        assert "error.type" not in facts(span)


def test_a_run_of_a_workflow_keeps_its_own_spans_and_has_no_second_ones() -> None:
    handle = tasks.run.start(1)
    run_worker()
    assert handle.result(timeout=0) == 1
    names = sorted(span.name for span in exporter.get_finished_spans())
    assert names == [
        "ActivityTaskExecution: observed.step",
        "CreateWorkflowInstance: observed.run",
        "Workflow: observed.run",
    ]


def test_metrics_have_the_names_and_the_labels_of_the_conventions() -> None:
    reader.get_metrics_data()
    tasks.add.push_many([(1,), (2,)])
    tasks.fails.push("ada", "hunter2")
    run_worker()
    found: dict[str, dict[str, Any]] = {}
    data = reader.get_metrics_data()
    assert data is not None
    for metric in (each for one in data.resource_metrics for scope in one.scope_metrics for each in scope.metrics):
        for point in metric.data.data_points:
            labels = dict(point.attributes or {})
            key = f"{labels.get('queueops.task.name')} {labels.get('error.type', '')}".strip()
            found.setdefault(metric.name, {})[key] = getattr(point, "count", getattr(point, "value", None))
            assert (labels["messaging.system"], labels["messaging.destination.name"]) == ("queueops", "default")
    failed = "observed.fails tests.observing.tasks.Observed"
    assert found["messaging.client.sent.messages"].items() >= {"observed.add": 2, "observed.fails": 1}.items()
    assert found["messaging.client.consumed.messages"].items() >= {"observed.add": 2, failed: 2}.items()
    assert found["messaging.process.duration"][failed] == 2
    assert "observed.add" in found["messaging.client.operation.duration"]


def test_an_observer_that_fails_fails_no_push_and_no_task(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def publishing(self, *_: Any) -> Any:
            raise OSError("no exporter")

        running = publishing

    monkeypatch.setattr(observers, "registered", [Broken()])
    handle = tasks.add.push(1)
    run_worker()
    assert handle.result(timeout=0) == 1
    assert [record.message for record in caplog.records if record.name == "queueops.observers"] == [
        "An observer failed at the beginning of its block"
    ] * 2


def test_a_push_that_fails_is_an_error_by_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(get_broker()), "announce", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tasks.add.push(1)
    (pushed,) = spans(SpanKind.PRODUCER)
    assert (pushed.status.status_code, facts(pushed)["error.type"], pushed.events) == (
        StatusCode.ERROR,
        "ZeroDivisionError",
        (),
    )
