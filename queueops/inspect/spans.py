"""Times and durations as text."""

from __future__ import annotations

from datetime import UTC, datetime

from queueops.model.sentences import Figure, Moment

_STEPS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"))


def span(ms: float) -> Figure:
    """A duration with about two digits: `340 ms`, `4.2 s`, `37 s`, `12 min`, `3.5 h`, `4 d`."""
    ms = max(0.0, ms)
    for size, unit in _STEPS:
        if ms >= size:
            count = ms / size
            return Figure(f"{count:.1f}".removesuffix(".0") + f" {unit}" if count < 10 else f"{count:.0f} {unit}")
    return Figure(f"{ms:.0f} ms")


def clock(ms: int) -> str:
    """An epoch time in ms, to the second, in UTC: `2026-11-20 12:37:09Z`; empty when it is out of all range."""
    try:
        return Moment(datetime.fromtimestamp(ms / 1000, UTC))
    except (ValueError, OverflowError, OSError):
        return ""
