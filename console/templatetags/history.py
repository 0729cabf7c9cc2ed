"""Template tags of the history: charts, small charts, times of an axis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, tzinfo
from functools import lru_cache
from itertools import chain
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from console.diagram import chart, moments
from console.diagram.history_figures import Column, columns_of, rows_of
from console.diagram.moments import Happening
from console.pages.history import DAY_MS, moment, region, written
from console.ui import dates, times
from console.ui.comparison import compared
from console.ui.kept_parts import kept_briefly
from console.ui.markup import markup
from queueops.inspect import ErrorRow, LaneRow, Series, Trend, WorkerRow

register = template.Library()
register.simple_tag(compared)


@register.simple_tag
def history_charts(series: Series, happenings: Iterable[Happening], chosen: str, at_ms: int = 0) -> SafeString:
    """The charts of a series with what happened, and tables of both; with a mark at a moment.

    They change once a minute, and are the same for all readers of a language and time zone.
    """
    zone, told = timezone.get_current_timezone(), tuple(happenings)
    values = {"series": series, "happenings": told, "chosen": chosen, "at_ms": at_ms, "zone": zone}
    return kept_briefly("console/history/charts.html", **values)


@register.simple_tag
def drawn_charts(series: Series, happenings: Iterable[Happening], at_ms: int) -> dict[str, Any]:
    """What the charts show."""
    middle = series.points[len(series.points) // 2].at_ms
    until = series.points[-1].at_ms + series.step_ms
    begin = series.points[0].at_ms
    label = dates.minute_of_day if series.step_ms * len(series.points) <= DAY_MS else dates.short_day
    return {
        "mark": round((at_ms - begin) / (until - begin) * chart.WIDTH, 1) if at_ms else None,
        "charts": chart.charts(series),
        "columns": columns_of(series),
        "rows": rows_of(series),
        "lines": moments.lines(happenings, begin, until),
        "legend": moments.legend(happenings),
        "axis": [label(timezone.localtime(times.moment(at))) for at in (begin, middle, until)],
    }


@register.inclusion_tag("console/history/region.html", takes_context=True)
def history_region(context: Any, **of: str) -> dict[str, Any]:
    """The live charts of a pool, or of its lane, name, state, error or worker (arguments; without any: of all pools).

    The range is that of the page's URL, `?range=`.
    """
    return region(context["request"].GET, of)


@register.inclusion_tag("console/history/region.html")
def read_region(region: dict[str, Any]) -> dict[str, Any]:
    """The live charts of a region that the page has read together with other figures."""
    return region


@register.simple_tag
def name_spark(trends: Mapping[str, Trend], name: str) -> SafeString:
    """The small chart of a name: its runs that ended, and failed ones."""
    return chart.svg(chart.spark(trends.get(name)))


@register.simple_tag
def lane_spark(trends: Mapping[tuple[str, str], Trend], lane: LaneRow) -> SafeString:
    """The small chart of a lane: runs that ended, and failed ones."""
    return chart.svg(chart.spark(trends.get((lane.pool, lane.lane))))


@register.simple_tag
def error_spark(trends: Mapping[tuple[str, str], Trend], error: ErrorRow, bare: bool = False) -> SafeString:
    """The small chart of an error group: its failures; `bare`: nothing stands where there were none."""
    return chart.svg(chart.spark_of_failures(trends.get((error.pool, error.fingerprint))), bare=bare)


@register.simple_tag
def worker_spark(trends: Mapping[tuple[str, str], Trend], worker: WorkerRow) -> SafeString:
    """The small chart of a worker: runs that ended, and failed ones."""
    return chart.svg(chart.spark(trends.get((next(iter(worker.pools), ""), worker.id))))


@register.simple_tag
def pool_spark(trends: Mapping[str, Trend], name: str) -> SafeString:
    """The small chart of a pool: tasks that ended, and failed runs."""
    return chart.svg(chart.spark(trends.get(name)))


@register.simple_tag
def figure_spark(hour: Series, word: str) -> SafeString:
    """The trend of one figure of the overview over the last hour: `flow.in`, `flow.out`, `failing.failing`, ..."""
    return chart.svg(chart.spark_of_line(hour, *word.split(".")), bare=True)


@register.simple_tag(takes_context=True)
def is_past(context: Any) -> bool:
    """Whether the page is asked for as it was at a moment."""
    return moment(context["request"].GET) is not None


@register.simple_tag
def past_words(ms: int) -> str:
    """A moment as it is said: `03:12 yesterday`."""
    moment = timezone.localtime(times.moment(ms))
    days = (datetime.now(moment.tzinfo).date() - moment.date()).days
    day = {0: _("today"), 1: _("yesterday")}.get(days) or dates.day(moment)
    return f"{dates.minute_of_day(moment)} {day}"


@register.filter
def past_at(ms: int) -> str:
    """A moment as the parameter `at` of a page."""
    return written(ms)


@register.filter
def typed_time(ms: int) -> str:
    """A moment as the value of a field for date and time, in the user's zone."""
    return timezone.localtime(times.moment(ms)).strftime("%Y-%m-%dT%H:%M")


@register.filter
def per_second(count: int, seconds: float) -> float:
    """A count of a step as a rate."""
    return count / seconds if seconds else 0.0


@register.simple_tag
def chart_hits(drawn: chart.Chart) -> SafeString:
    """The columns of a chart that have a text; each page has some hundred, so no template draws each."""
    zone, language = timezone.get_current_timezone(), get_language()
    told = [(each.left, each.width, _step_time(each.at_ms, zone, language), each.values) for each in drawn.columns]
    rect = '<rect x="{}" width="{}" height="100"><title>{}: {}</title></rect>'
    return markup(rect * len(told), *chain.from_iterable(told))


@register.simple_tag
def values_rows(rows: list[tuple[int, list[str]]], columns: Iterable[Column]) -> SafeString:
    """The rows of the table of values: the time of each, and its values."""
    zone, language = timezone.get_current_timezone(), get_language()
    cells = "".join(f'<td data-label="{escape(column.title)}">{{}}</td>' for column in columns)
    line = f'<tr><th scope="row">{{}}</th>{cells}</tr>'
    return markup(line * len(rows), *chain.from_iterable((_step_time(at, zone, language), *row) for at, row in rows))


@register.simple_tag
def step_time(ms: int) -> str:
    """A time to the minute."""
    return _step_time(ms, timezone.get_current_timezone(), get_language())


@lru_cache(maxsize=2048)
def _step_time(ms: int, zone: tzinfo, _language: str | None) -> str:
    """The six charts of a page have the same steps, and the next page in this language has them, too."""
    return dates.minute(datetime.fromtimestamp(ms / 1000, zone))
