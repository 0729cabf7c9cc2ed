"""Trace of a run in memory: when its timers and the spans of its code began, and which spans a step has ended.

A replay notes the beginnings again, and exports nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from queueops.kinds.workflows.replay import tracing
from queueops.kinds.workflows.replay.loop import WorkflowLoop
from queueops.kinds.workflows.replay.step import MadeSpan, RunInfo, Step
from queueops.kinds.workflows.replay.tracing import RUN, open_span


class Traced(Protocol):
    """An execution, as far as its trace needs it."""

    info: RunInfo
    loop: WorkflowLoop
    replaying: bool

    @property
    def step(self) -> Step:
        """The step that is made now."""


class RunTrace:
    """The trace of one execution. Without a trace context of the run, it does nothing."""

    def __init__(self, execution: Traced) -> None:
        self._execution = execution
        self._timers: dict[int, tuple[int, str]] = {}
        self._signals = self._spans = 0

    def context(self) -> str:
        """The trace context for a call of the code, here and now."""
        info = self._execution.info
        return tracing.context_of(info, open_span.get()) if info.trace else ""

    def timer_set(self, number: int) -> None:
        """A timer begins."""
        if self._execution.info.trace:
            self._timers[number] = (self._execution.loop.now_ms, open_span.get())

    def timer_fired(self, number: int) -> None:
        """A timer ends."""
        if number in self._timers:
            begun_ms, parent = self._timers.pop(number)
            self._ended(f"timer {number}", "Timer", begun_ms, parent)

    def signal(self, name: str) -> None:
        """A signal has come."""
        self._signals += 1
        self._ended(f"signal {self._signals}", f"Signal: {name}", self._execution.loop.now_ms, RUN)

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """A span of the code."""
        self._spans += 1
        key, parent, begun_ms = f"span {self._spans}", open_span.get(), self._execution.loop.now_ms
        token = open_span.set(key)
        error = ""
        try:
            yield
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
            raise
        finally:
            open_span.reset(token)
            self._ended(key, name, begun_ms, parent, error)

    def _ended(self, key: str, name: str, begun_ms: int, parent: str, error: str = "") -> None:
        execution = self._execution
        if execution.info.trace and not execution.replaying:
            ended_ms = max(begun_ms, execution.loop.now_ms)
            made = MadeSpan(key=key, name=name, begun_ms=begun_ms, ended_ms=ended_ms, parent=parent, error=error)
            execution.step.spans.append(made)


def run_span(info: RunInfo, step: Step, begun_ms: int) -> MadeSpan:
    """The span of a run that has ended. One that continues as new is linked with the next run."""
    error = f"{type(step.error).__name__}: {step.error}" if step.error is not None else ""
    links = (tracing.run_link(info, step.next_id),) if step.next_id else ()
    return MadeSpan(
        key=RUN, name=f"Workflow: {info.name}", begun_ms=begun_ms, ended_ms=max(begun_ms, step.at), error=error,
        links=links, attributes={"queueops.state": step.state, "queueops.pool": info.pool},
    )  # fmt: skip
