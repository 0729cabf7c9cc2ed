"""Timeline of a run: one bar for each activity, timer and child of a page of its history, drawn on the server."""

from __future__ import annotations

import msgspec

from queueops import inspect
from queueops.inspect import RunSpan, RunView

WIDTH = 1000.0
"""Units of the width. The drawing is stretched to its place; texts stand beside it."""
LEAST = 4.0  # so that a bar of no time is visible
STATES = {"done": "succeeded", "fired": "succeeded", "failed": "failed", "dropped": "cancelled", "open": "locked"}
"""The state whose colour a bar has, by the outcome of its command."""


class Bar(msgspec.Struct, frozen=True):
    """The bar of one command. `took_ms` is None if its beginning is on an earlier page."""

    span: RunSpan
    state: str
    left: float
    width: float
    took_ms: int | None


class Timeline(msgspec.Struct, frozen=True):
    """The bars of a page, between two times."""

    begun_ms: int
    ended_ms: int
    bars: tuple[Bar, ...]


def timeline(run: RunView) -> Timeline | None:
    """The timeline of a page; None without any command."""
    if not run.spans:
        return None
    times = [line.at_ms for line in run.lines if line.at_ms]
    times += [at for span in run.spans for at in (span.begun_ms, span.ended_ms) if at]
    is_last_page = not run.next
    if is_last_page and any(_is_open(span) for span in run.spans):
        times.append(inspect.now_ms())
    begun, ended = min(times, default=0), max(times, default=0)
    scale = WIDTH / max(1, ended - begun)
    return Timeline(begun, ended, tuple(_bar(span, begun, ended, scale) for span in run.spans))


def _is_open(span: RunSpan) -> bool:
    return span.ended_ms is None


def _bar(span: RunSpan, begun: int, ended: int, scale: float) -> Bar:
    first = span.begun_ms or begun
    last = span.ended_ms or ended
    left = min(WIDTH - LEAST, (first - begun) * scale)
    width = min(WIDTH - left, max(LEAST, (last - first) * scale))
    took = last - span.begun_ms if span.begun_ms is not None else None
    return Bar(span, STATES.get(span.outcome, "pending"), round(left, 1), round(width, 1), took)
