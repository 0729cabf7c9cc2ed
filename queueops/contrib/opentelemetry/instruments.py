"""Metrics of pushes and attempts, by the names of OpenTelemetry's conventions for messaging."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry.metrics import Histogram, Meter

from queueops.contrib.span_facts import NO_ERRORS, Run
from queueops.worker.execution.failure import type_name

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_LABELS = ("messaging.system", "messaging.destination.name", "queueops.task.name")


class Instruments:
    """Two counters and two histograms. Their labels are few: system, operation, pool, task name, class of the error."""

    def __init__(self, meter: Meter) -> None:
        self._sent = meter.create_counter("messaging.client.sent.messages", "{message}", "Pushed tasks")
        self._consumed = meter.create_counter("messaging.client.consumed.messages", "{message}", "Started attempts")
        self._push = _seconds(meter, "messaging.client.operation.duration", "Duration of a push")
        self._process = _seconds(meter, "messaging.process.duration", "Duration of an attempt")

    @contextmanager
    def pushed(self, facts: Mapping[str, Any], count: int) -> Iterator[None]:
        """Measure a push."""
        labels = _labels(facts, "push")
        begun = time.monotonic()
        try:
            yield
        except BaseException as error:
            labels["error.type"] = type_name(error)
            raise
        finally:
            self._sent.add(count, labels)
            self._push.record(time.monotonic() - begun, {**labels, "messaging.operation.type": "send"})

    @contextmanager
    def processed(self, run: Run, facts: Mapping[str, Any]) -> Iterator[None]:
        """Measure an attempt."""
        labels = _labels(facts, "process")
        try:
            yield
        except BaseException as error:
            if (word := run.word(error)) not in NO_ERRORS:
                labels["error.type"] = word
            raise
        finally:
            self._consumed.add(1, labels)
            self._process.record(run.seconds(), labels)


def _seconds(meter: Meter, name: str, what: str) -> Histogram:
    return meter.create_histogram(name, "s", what, explicit_bucket_boundaries_advisory=BOUNDS)


def _labels(facts: Mapping[str, Any], operation: str) -> dict[str, Any]:
    labels = {name: facts[name] for name in _LABELS if name in facts}
    return labels | {"messaging.operation.name": operation}
