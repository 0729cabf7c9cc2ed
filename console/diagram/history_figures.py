"""History figures: which charts a series has, how their values are computed and written, and the table of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import msgspec
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, pgettext_lazy
from msgspec.structs import replace

from console.ui import formatting
from queueops.inspect import Point, Series

Words = str | Promise
Value = Callable[[Sequence[Point], float], list[float | None]]
"""A figure at each of these points, given the seconds of a step."""


class Figure(msgspec.Struct, frozen=True):
    """One chart: its lines, and how a value is written."""

    word: str
    title: Words
    lines: tuple[tuple[Words, Value], ...]
    written: Callable[[float | None], str]
    unit: str = ""
    is_count: bool = False  # of a step: lower as long as the step is open


def _per_second(name: str) -> Value:
    get = attrgetter(name)
    return lambda points, seconds: [get(point) / seconds if point.known else None for point in points]


def _counted(name: str) -> Value:
    get = attrgetter(name)
    return lambda points, _seconds: [get(point) if point.known else None for point in points]


def _plain(name: str) -> Value:
    get = attrgetter(name)
    return lambda points, _seconds: list(map(get, points))


def _times(word: str) -> tuple[tuple[Words, Value], ...]:
    return tuple((f"p{q}", _plain(f"{word}_p{q}_ms")) for q in (50, 95, 99))


FLOW = Figure(
    "flow",
    gettext_lazy("Throughput"),
    (
        (pgettext_lazy("chart line", "in"), _per_second("came")),
        (pgettext_lazy("chart line", "out"), _per_second("ended")),
    ),
    formatting.rate,
    "/s",
)
FAILING = Figure(
    "failing", gettext_lazy("Failing"), ((gettext_lazy("failing"), _counted("failure_rate")),), formatting.percent
)
BACKLOG = Figure(
    "backlog",
    gettext_lazy("Waiting and running"),
    ((gettext_lazy("waiting"), _plain("waiting")), (pgettext_lazy("chart line", "running"), _plain("running"))),
    formatting.short,
)
OLDEST = Figure(
    "oldest", gettext_lazy("Oldest waiting"), ((gettext_lazy("oldest"), _plain("oldest_ms")),), formatting.about_ms
)
WAIT = Figure("wait", gettext_lazy("Wait"), _times("wait"), formatting.about_ms)
RUN = Figure("run", gettext_lazy("Run time"), _times("run"), formatting.about_ms)
FIGURES = (FLOW, FAILING, BACKLOG, OLDEST, WAIT, RUN)
FAILURES = Figure(
    "failures",
    gettext_lazy("Failures"),
    ((gettext_lazy("failures"), _counted("failed")),),
    formatting.count,
    is_count=True,
)
WORK = Figure(
    "work",
    gettext_lazy("Runs"),
    ((gettext_lazy("ended"), _per_second("ended")), (gettext_lazy("failed"), _per_second("failed"))),
    formatting.rate,
    "/s",
)
BUSY = Figure(
    "busy", gettext_lazy("Busy share of its slots"), ((gettext_lazy("busy"), _plain("busy_share")),), formatting.percent
)
SLOTS = Figure("slots", gettext_lazy("Slots used"), ((gettext_lazy("slots"), _plain("running")),), formatting.count)
MEMORY = Figure("memory", gettext_lazy("Memory"), ((gettext_lazy("memory"), _plain("memory")),), formatting.size)
PER_STEP = {
    60_000: gettext_lazy("Failures per minute"),
    600_000: gettext_lazy("Failures per ten minutes"),
    3_600_000: gettext_lazy("Failures per hour"),
}


def figures_of(series: Series) -> tuple[Figure, ...]:
    """The charts of a series, in order."""
    if series.error:
        return (replace(FAILURES, title=PER_STEP.get(series.step_ms, FAILURES.title)),)
    return (WORK, BUSY, SLOTS, MEMORY) if series.worker else FIGURES


def with_unit(figure: Figure, value: float | None) -> str:
    """A value as it is written."""
    return f"{figure.written(value)}{figure.unit if value is not None else ''}"


def values_of(series: Series, value: Value) -> list[float | None]:
    """A figure at all points; each is of a whole step but for the last one of an open series."""
    found = value(series.points, series.step_ms / 1000)
    if series.is_open:
        point = series.points[-1 - series.ahead]
        (found[-1 - series.ahead],) = value([point], series.seconds_of(point))
    return found


def lines_of(series: Series, figure: Figure) -> list[list[float | None]]:
    """The values of each of a chart's lines."""
    return [values_of(series, value) for _label, value in figure.lines]


def texts_of(series: Series, figure: Figure) -> list[str]:
    """The values of a chart's lines at each point; empty where none is known."""
    found = []
    for row in zip(*lines_of(series, figure), strict=True):
        told = [f"{label} {with_unit(figure, each)}" for (label, _value), each in zip(figure.lines, row, strict=True)]
        found.append(", ".join(told) if any(each is not None for each in row) else "")
    return found


def numbers_of(series: Series, figure: Figure) -> list[list[float | None]]:
    """The values of each of a chart's lines, with four digits."""
    return [[None if each is None else float(f"{each:.4g}") for each in row] for row in lines_of(series, figure)]


def tops_of(series: Series, figure: Figure) -> list[str]:
    """The highest value of each of a chart's lines, as it is written."""
    return [with_unit(figure, highest(row)) for row in lines_of(series, figure)]


def highest(values: Iterable[float | None]) -> float | None:
    """The highest known value; None without any."""
    return max([value for value in values if value is not None], default=None)


class Column(msgspec.Struct, frozen=True):
    """A column of the table of values."""

    title: Words
    value: Callable[[Point], object]
    written: Callable[[Any], str]


def _column(title: Words, name: str, written: Callable[[Any], str] = formatting.count) -> Column:
    return Column(title, attrgetter(name), written)


FAILED = _column(gettext_lazy("Failed"), "failed")
TIMES = tuple(
    _column(title, f"{word}_p{q}_ms", formatting.about_ms)
    for word, titles in (
        ("wait", (gettext_lazy("Wait p50"), gettext_lazy("Wait p95"), gettext_lazy("Wait p99"))),
        ("run", (gettext_lazy("Run p50"), gettext_lazy("Run p95"), gettext_lazy("Run p99"))),
    )
    for q, title in zip((50, 95, 99), titles, strict=True)
)
COLUMNS = (
    _column(gettext_lazy("In"), "came"),
    _column(gettext_lazy("Out"), "ended"),
    FAILED,
    _column(gettext_lazy("Retried"), "retried"),
    _column(gettext_lazy("Waiting"), "waiting"),
    _column(gettext_lazy("Running"), "running"),
    _column(gettext_lazy("Oldest"), "oldest_ms", formatting.about_ms),
    *TIMES,
)
OF_WORKER = (
    _column(gettext_lazy("Ended"), "ended"),
    FAILED,
    _column(gettext_lazy("Slots used"), "running"),
    _column(gettext_lazy("Busy"), "busy_share", formatting.percent),
    _column(gettext_lazy("Memory"), "memory", formatting.size),
)


def columns_of(series: Series) -> tuple[Column, ...]:
    """The columns of the table of values."""
    return (FAILED,) if series.error else OF_WORKER if series.worker else COLUMNS


def rows_of(series: Series) -> list[tuple[int, list[str]]]:
    """The rows of the table: the time of each stretch that is known, and its values as they are written."""
    columns = columns_of(series)
    return [
        (point.at_ms, [column.written(column.value(point)) for column in columns])
        for point in series.stretches
        if point.known
    ]
