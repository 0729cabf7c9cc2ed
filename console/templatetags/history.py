"""Template tags of the history: charts, small charts, times of an axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils import timezone
from django.utils.formats import date_format

from console.diagram import chart
from console.pages.history import RANGES, region
from console.templatetags.console import _moment
from queueops.inspect import LaneRow, Series, Trend

register = template.Library()


@register.inclusion_tag("console/history/charts.html")
def history_charts(series: Series) -> dict[str, Any]:
    """The charts of a series, and a table of its values."""
    middle = series.points[len(series.points) // 2].at_ms
    until = series.points[-1].at_ms + series.step_ms
    return {
        "series": series,
        "charts": chart.charts(series),
        "axis": (series.points[0].at_ms, middle, until),
        "step": series.step_ms * len(series.points) // max(1, len(series.stretches)),
    }


@register.inclusion_tag("console/history/region.html", takes_context=True)
def history_region(context: Any, **of: str) -> dict[str, Any]:
    """The live charts of a pool, lane, name or state (arguments `pool`, `lane`, `name`, `state`; without any: all).

    The range is that of the page's URL, `?range=`.
    """
    return region(context["request"].GET, of)


@register.inclusion_tag("console/history/spark.html")
def name_spark(trends: Mapping[str, Trend], name: str) -> dict[str, Any]:
    """The small chart of a name: its runs that ended, and failed ones."""
    return {"spark": chart.spark(trends.get(name))}


@register.inclusion_tag("console/history/spark.html")
def lane_spark(trends: Mapping[tuple[str, str], Trend], lane: LaneRow) -> dict[str, Any]:
    """The small chart of a lane: runs that ended, and failed ones."""
    return {"spark": chart.spark(trends.get((lane.pool, lane.lane)))}


@register.simple_tag
def axis_time(ms: int, series: Series) -> str:
    """A time on the axis of a series: hour and minute, or the day."""
    moment = timezone.localtime(_moment(ms))
    return date_format(moment, "H:i" if series.range in RANGES[:2] else "M j")


@register.simple_tag
def step_time(ms: int) -> str:
    """A time to the minute."""
    return date_format(timezone.localtime(_moment(ms)), "Y-m-d H:i")
