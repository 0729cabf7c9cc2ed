"""Charts of the history: lines over time as paths of an SVG, drawn on the server; small ones for lists.

The drawing is 1000 wide and is stretched to its place; texts stand beside it, so they keep their size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

import msgspec
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from console.diagram.history_figures import Figure, Words, figures_of, highest, lines_of, values_of, with_unit
from console.ui import formatting
from console.ui.markup import markup
from queueops.inspect import Point, Series, Trend

T = TypeVar("T")
WIDTH, HEIGHT = 1000.0, 100.0
MOST_COLUMNS = 24
"""Columns with a text of their own under the pointer."""
SPARK_WIDTH, SPARK_HEIGHT, SPARK_POINTS = 100.0, 24.0, 20
LINES = {
    "flow": ("in", "out"),
    "failing": ("failing",),
    "backlog": ("waiting", "running"),
    **dict.fromkeys(("wait", "run"), ("p50", "p95", "p99")),
}
"""The words of the lines of a figure, for small charts of one of them."""


class Line(msgspec.Struct, frozen=True):
    """One line of a chart: its path, and the last value in words."""

    number: int
    label: Words
    d: str
    area: str
    last: str
    is_zero: bool  # each known value is zero


class Column(msgspec.Struct, frozen=True):
    """A part of the width with the time and the values in it."""

    left: float
    width: float
    at_ms: int
    values: str


class Chart(msgspec.Struct, frozen=True):
    """A chart, ready to be drawn."""

    word: str
    title: Words
    top: str
    summary: str
    lines: tuple[Line, ...]
    columns: tuple[Column, ...]


def charts(series: Series) -> tuple[Chart, ...]:
    """The charts of a series; those without any value are left out."""
    return tuple(chart for figure in figures_of(series) if (chart := draw(series, figure)) is not None)


def draw(series: Series, figure: Figure) -> Chart | None:
    """One chart; None if no point has a value."""
    rows = lines_of(series, figure)
    top = highest(map(highest, rows))
    if top is None:
        return None
    scale = top or 1.0
    labels = [str(label) for label, _value in figure.lines]
    return Chart(
        word=figure.word,
        title=figure.title,
        top=with_unit(figure, top),
        summary=_summary(figure, labels, rows),
        lines=tuple(
            Line(number, label, *path(row, scale, HEIGHT), _told_last(series, figure, row), not highest(row))
            for number, (label, row) in enumerate(zip(labels, rows, strict=True), start=1)
        ),
        columns=tuple(_columns(series.points, figure, labels, rows)),
    )


def _told_last(series: Series, figure: Figure, row: Sequence[float | None]) -> str:
    """The last value; of a count in a step that is still open it says so."""
    told = with_unit(figure, _last(row))
    return _("%(count)s so far") % {"count": told} if series.is_open and figure.is_count else told


class Spark(msgspec.Struct, frozen=True):
    """A small chart of a list: a path of values and one of failures, each empty if there is none, and its text."""

    d: str
    failed: str
    text: str


def spark(trend: Trend | None) -> Spark | None:
    """The small chart of a trend: ended runs and failed ones; None without any data."""
    if trend is None or not (any(trend.ended) or any(trend.failed) or any(trend.waiting)):
        return None
    ended, failing = _grouped(trend.ended, sum), _grouped(trend.failed, sum)
    highest = max(*ended, *failing, 1)
    told = {
        "ended": formatting.count(sum(trend.ended)),
        "failed": formatting.count(sum(trend.failed)),
        "time": formatting.span(trend.step_ms * len(trend.ended)),
    }
    text = _("%(ended)s runs ended, %(failed)s failed in %(time)s") % told
    return Spark(_small(ended, highest), _small(_rises(failing), highest), text)


def spark_of_failures(trend: Trend | None) -> Spark | None:
    """The small chart of an error's trend; None without any failure."""
    if trend is None or not any(trend.failed):
        return None
    failing = _grouped(trend.failed, sum)
    told = {"failed": formatting.count(sum(trend.failed)), "time": formatting.span(trend.step_ms * len(trend.failed))}
    return Spark("", _small(_rises(failing), max(failing)), _("%(failed)s failures in %(time)s") % told)


def spark_of_line(series: Series, word: str, line: str) -> Spark | None:
    """The small chart of one line of a figure, such as `wait`, `p95`; None if less than two points have a value."""
    figure = next(each for each in figures_of(series) if each.word == word)
    value = next(value for each, (_label, value) in zip(LINES[word], figure.lines, strict=True) if each == line)
    row = values_of(series, value)
    if len(row) - row.count(None) < 2:
        return None
    most = highest(row)
    told = {
        "title": figure.title,
        "most": with_unit(figure, most),
        "time": formatting.span(series.step_ms * len(row)),
    }
    drawn = _small(_grouped(row, highest), most or 1.0)
    return Spark(drawn, "", _("%(title)s: %(most)s at most in %(time)s") % told)


def svg(spark: Spark | None, *, bare: bool = False) -> SafeString:
    """The drawing of a small chart. A dash stands for one without data; with `bare`, nothing does.

    Lists have hundreds of them: a template for each of them would take longer than its row.
    """
    if spark is None:
        return markup("{}", "" if bare else formatting.NOTHING)
    drawn = markup('<path class="line" d="{}"/>', spark.d) if spark.d else ""
    failed = markup('<path class="line line-failed" d="{}"/>', spark.failed) if spark.failed else ""
    begin = '<svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" role="img">'
    return markup(begin + "<title>{}</title>{}{}</svg>", spark.text, drawn, failed)


def _small(row: Sequence[float | None], highest: float) -> str:
    return path(row, highest, SPARK_HEIGHT, SPARK_WIDTH, 0)[0]


def _rises(row: Sequence[int]) -> list[int | None]:
    """The values that are not zero, with those beside them; the rest are gaps: nothing failed there."""
    near = zip((0, *row), row, (*row[1:], 0), strict=False)
    return [three[1] if any(three) else None for three in near]


def _grouped(row: Sequence[T], joined: Callable[[Sequence[T]], T]) -> list[T]:
    """At most SPARK_POINTS values, each of several neighbours."""
    size = -(-len(row) // SPARK_POINTS)
    return [joined(row[begin : begin + size]) for begin in range(0, len(row), size)]


def path(
    row: Sequence[float | None], scale: float, height: float, width: float = WIDTH, digits: int = 1
) -> tuple[str, str]:
    """The line of these values with its gaps, and the area under it."""
    step = width / max(1, len(row) - 1)
    lines, areas = [], []
    for begin, values in _stretches(row):
        first, last = begin * step, (begin + len(values) - 1) * step
        line = _spots(begin, len(values), step, digits) % tuple(
            [height - 1 - value / scale * (height - 3) for value in values]
        )
        if len(values) == 1:  # a point alone: a short line
            last = first + step / 3
            line += f"L{last:.0f} {line.split()[1]}"
        lines.append(f"M{line}")
        areas.append(f"M{first:.0f} {height:.0f}L{line}L{last:.0f} {height:.0f}Z")
    return "".join(lines), "".join(areas)


@lru_cache(maxsize=256)
def _spots(begin: int, count: int, step: float, digits: int) -> str:
    """The pattern of a line that gets the heights; all lines over the same range have the same places."""
    return "L".join([f"{(begin + at) * step:.0f} %.{digits}f" for at in range(count)])


def _stretches(row: Sequence[float | None]) -> Iterable[tuple[int, list[float]]]:
    """The runs of known values, each with its first position."""
    begin, values = 0, list[float]()
    for number, value in enumerate((*row, None)):
        if value is not None:
            begin = begin if values else number
            values.append(value)
        elif values:
            yield begin, values
            values = []


def _columns(
    points: Sequence[Point], figure: Figure, labels: Sequence[str], rows: Sequence[Sequence[float | None]]
) -> Iterable[Column]:
    """At most MOST_COLUMNS columns; one of several points has the highest values."""
    size = -(-len(points) // MOST_COLUMNS)
    width = WIDTH / len(points)
    for begin in range(0, len(points), size):
        most = [highest(row[begin : begin + size]) for row in rows]
        if most.count(None) == len(most):
            continue
        texts = [f"{label} {with_unit(figure, value)}" for label, value in zip(labels, most, strict=True)]
        wide = min(size, len(points) - begin) * width
        yield Column(round(begin * width, 1), round(wide, 1), points[begin].at_ms, ", ".join(texts))


def _summary(figure: Figure, labels: Sequence[str], rows: Sequence[Sequence[float | None]]) -> str:
    """What the chart says, for a reader who does not see it."""
    told = []
    for label, row in zip(labels, rows, strict=True):
        words = {"label": label, "last": with_unit(figure, _last(row)), "most": with_unit(figure, highest(row))}
        told.append(_("%(label)s: %(last)s at the end, %(most)s at most") % words)
    return f"{figure.title}. {'; '.join(told)}"


def _last(row: Sequence[float | None]) -> float | None:
    return next((value for value in reversed(row) if value is not None), None)
