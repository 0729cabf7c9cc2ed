"""History region: the charts of a page, refreshed live on its own, once a minute."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext_lazy as _
from msgspec.structs import replace

from console.diagram.history_figures import figures_of, numbers_of, texts_of, tops_of
from console.diagram.moments import line_tops
from console.pages.happenings import happenings
from console.ui import dates
from console.ui.links import url, with_query
from console.ui.render import fragment, live_update
from queueops import inspect
from queueops.inspect import RANGES as ALL_RANGES
from queueops.inspect import Point, Series
from queueops.model.sentences import translated

READING_AGE_S = 15.0
"""So old the figures of a chart may be: a history gets a step a minute, and many open pages share a reading."""
DAY_MS = 86_400_000
FIT = "fit"
LEAST_ZOOM_MS = 600_000
RECENT_MS = 2 * 3_600_000
"""The age up to which a moment may be of a store that is too young for a chart of a day."""
MOST_MARKS = 100
"""Moments in the plots of a region; the newest."""
LEAST_POINTS = 10
"""So many points a chart has at least, also if the history is younger."""
RANGES = ("1h", "24h", "14d")
LABELS = {"1h": _("1 hour"), "24h": _("24 hours"), "14d": _("14 days")}
OF = ("pool", "lane", "name", "state", "error", "worker")
"""What a region may be of; the parameters of its URL."""


def live(request: HttpRequest) -> HttpResponse:
    """The live update of a region, when a step has been added."""
    return fragment(request, "history/region.html", region(request.GET, {}))


def region(query: Mapping[str, str], of: Mapping[str, str], given: Series | None = None) -> dict[str, Any]:
    """The context of a region: what it is `of`, or else what the query says. With `?at=` it is of that moment.

    Without a range in the query it is the one that fits what is known. `given` is the series, if the page has read it.
    """
    asked = {key: value for key in OF if (value := of.get(key, "") if of else query.get(key, ""))}
    if sum(key in asked for key in OF[1:]) > 1:
        raise Http404
    at_ms = moment(query)
    if at_ms is not None:
        return _region_of(at_ms, range_in(query), asked)
    if zoomed := _zoomed(query, asked):
        return zoomed
    series = given or _series(range_in(query), asked)
    found = happenings(series)
    fixed = {} if range_in(query) == FIT else {"range": series.range}
    return {
        **_drawn(series),
        "happenings": found,
        "ranges": _links(series.range),
        "earlier": written(series.points[-1].at_ms),
        "chosen": series.range,
        "values_url": _values_url(asked, range=series.range),
        **live_update(url("history-live"), series, found, **fixed, **asked),
    }


def range_in(query: Mapping[str, str]) -> str:
    """The range that the query names, or the word of the one that fits."""
    chosen = query.get("range", "")
    return chosen if chosen in RANGES else FIT


def moment(query: Mapping[str, str]) -> int | None:
    """The minute that the parameter `at` names, in ms; None without one, for one of the future, or an unreadable one.

    A time without a zone is in that of the user.
    """
    try:
        found = parse_datetime(query.get("at", "")[:40])
        at = found and (found if timezone.is_aware(found) else timezone.make_aware(found)).timestamp()
    except (ValueError, OverflowError):
        return None
    return int(at // 60) * 60_000 if at and 0 < at < time.time() - 60 else None


def written(ms: int) -> str:
    """A moment as the parameter `at`, in UTC: the same for each reader."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%MZ")


def values(request: HttpRequest) -> HttpResponse:
    """The values of a region's charts at each point, as numbers and as they are written, for the script that plots."""
    found = region(request.GET, {})
    series, marks = found["series"], list(reversed(found["happenings"][:MOST_MARKS]))
    return _without_tags(
        {
            "from": series.points[0].at_ms,
            "step": series.step_ms,
            "times": [dates.minute(_local_time(point.at_ms)) for point in series.points],
            "axis": _axis(series),
            "zone": timezone.get_current_timezone_name(),
            "charts": {figure.word: texts_of(series, figure) for figure in figures_of(series)},
            "numbers": {figure.word: numbers_of(series, figure) for figure in figures_of(series)},
            "tops": {figure.word: tops_of(series, figure) for figure in figures_of(series)},
            "marks": [
                {
                    "at": each.at_ms,
                    "kind": each.kind,
                    "top": top,
                    "word": str(each.word),
                    "text": translated(each.text)[:100],
                }
                for each, top in zip(marks, line_tops([(each.kind, each.at_ms) for each in marks]), strict=True)
            ],
        }
    )


def _without_tags(values: dict[str, Any]) -> HttpResponse:
    """JSON in which no text can begin a tag, wherever it is read."""
    return HttpResponse(json.dumps(values).replace("<", "\\u003c"), content_type="application/json")


def _axis(series: Series) -> list[str]:
    """The labels of the points on the axis of time: hour and minute, or the day where there is more than a day."""
    label = dates.minute_of_day if series.step_ms * len(series.points) <= DAY_MS else dates.day_of_year
    return [label(_local_time(point.at_ms)) for point in series.points]


def _local_time(ms: int) -> datetime:
    return timezone.localtime(datetime.fromtimestamp(ms / 1000, UTC))


def _values_url(asked: Mapping[str, str], **more: str) -> str:
    return with_query(url("history-values"), {**more, **asked})


def _zoomed(query: Mapping[str, str], asked: Mapping[str, str]) -> dict[str, Any] | None:
    """The region between two times, which does not live; None if the query names no such two."""
    since, until = (moment({"at": query.get(name, "")}) for name in ("since", "until"))
    if since is None:
        return None
    until = until or int(time.time() * 1000)
    if until - since < LEAST_ZOOM_MS:
        until = since + LEAST_ZOOM_MS
    series = _series(FIT, asked, until, since)
    return {
        "series": series,
        "happenings": happenings(series),
        "ranges": _links(""),
        "earlier": written(series.points[-1].at_ms),
        "chosen": "",
        "zoom": (series.points[0].at_ms, series.until_ms),
        "values_url": _values_url(asked, since=written(since), until=written(until)),
    }


def _region_of(at_ms: int, chosen: str, asked: Mapping[str, str]) -> dict[str, Any]:
    """The figures of a moment, and charts with that moment in the middle if the time after it is known.

    Without a range they show a day, or an hour if nothing older is known and the moment is in it.
    """
    now_ms = int(time.time() * 1000)
    fits = chosen == FIT and now_ms - at_ms < RECENT_MS
    chosen = _kept("24h" if chosen == FIT else chosen, now_ms - at_ms)
    length = ALL_RANGES[chosen].step_ms * ALL_RANGES[chosen].points
    end_ms = min(now_ms, at_ms + length // 2) // 60_000 * 60_000
    past = inspect.past(at_ms, max_age_s=READING_AGE_S)
    series = _series(FIT if fits else chosen, asked, end_ms)
    if series.points[0].at_ms > at_ms:  # the hour that fits a young store begins after the moment
        series = _series(chosen, asked, end_ms)
    chosen = series.range
    return {
        **_drawn(series, at_ms),
        "happenings": happenings(series),
        "ranges": _links(chosen, written(at_ms)),
        "chosen": chosen,
        "at_ms": at_ms,
        "values_url": _values_url(asked, range=chosen, at=written(at_ms)),
        "past": past,
        "point": past.row(**{key: value for key, value in asked.items() if key != "state"}),
        "seconds": past.step_ms / 1000,
        "earlier": written(past.at_ms - past.step_ms),
        "later": written(past.at_ms + past.step_ms),
    }


def _series(chosen: str, asked: Mapping[str, str], now_ms: int = 0, since_ms: int = 0) -> Series:
    return inspect.series(chosen, **asked, since_ms=since_ms, now_ms=now_ms, max_age_s=READING_AGE_S)


def _drawn(series: Series, at_ms: int = 0) -> dict[str, Any]:
    """The series from the first point on for which there is history, or from a moment before it; and since when.

    The chart of a young store is short, and begins at its left, with an empty part for the time to come. The table of
    values is not changed.
    """
    begins_ms = series.begins_ms
    if begins_ms is None or begins_ms <= series.points[0].at_ms:
        return {"series": series}
    first = min(begins_ms, at_ms or begins_ms)
    empty = sum(point.at_ms + series.step_ms <= first for point in series.points)
    points = series.points[min(empty, len(series.points) - 1) :]
    last, missing = points[-1], max(0, LEAST_POINTS - len(points))
    coming = (Point(at_ms=last.at_ms + number * series.step_ms, known=False) for number in range(1, missing + 1))
    return {"series": replace(series, points=(*points, *coming), ahead=missing), "begins_ms": begins_ms}


def _kept(chosen: str, age_ms: int) -> str:
    """The chosen range, or the shortest one whose steps are still kept."""
    fitting = [word for word in RANGES if age_ms < ALL_RANGES[word].level.kept_s * 1000]
    return chosen if chosen in fitting or not fitting else fitting[0]


def _links(chosen: str, at: str = "") -> list[tuple[str, Any, bool]]:
    return [(f"{word}&at={at}" if at else word, LABELS[word], word == chosen) for word in RANGES]
