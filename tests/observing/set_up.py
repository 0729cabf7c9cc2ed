"""What a project does in its settings: both SDKs. A span is written only when its process flushes."""

from __future__ import annotations

from pathlib import Path

import sentry_sdk
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

NEVER_MS = 3_600_000


def both(dsn: str, spans: str) -> None:
    sentry_sdk.init(dsn, traces_sample_rate=1.0)
    file = Path(spans).open("a")  # noqa: SIM115 - for the whole process
    exporter = ConsoleSpanExporter(out=file, formatter=lambda span: f"{span.to_json(None)}\n")
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=NEVER_MS))
    trace.set_tracer_provider(provider)
