"""Rows of the tables of lanes with a small chart in each, as HTML: on the overview and on a pool's page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from console.diagram import chart
from console.ui.badges import icon
from console.ui.break_points import breakable
from console.ui.formatting import NOTHING, about, count
from console.ui.links import url
from console.ui.live_list import short
from console.ui.markup import joined, markup
from console.ui.shortened import cut
from console.ui.times import since
from queueops.inspect import LaneRow, Trend, bound_of

UNKNOWN = "no run yet"
ROW = (
    '\n<tr id="lane-{key}"><th scope="row"><a href="{url}">{label}</a>{notes}{pool}</th>'
    '<td class="n">{ready}</td><td class="n">{active}</td><td class="spare-phone">{slots}</td>'
    '<td class="n">{oldest}</td><td class="n spare-phone">{empty_in}</td><td class="{spark_class}">{spark}</td></tr>'
)
NOTE = ' <span class="badge-note">{}{}</span>'


def lane_rows(
    lanes: Iterable[LaneRow],
    trends: Mapping[tuple[str, str], Trend],
    *,
    names_pool: bool = False,
    spark_class: str = "spare-phone",
) -> SafeString:
    """A row for each lane: what waits and runs, its slots, when it is empty, and its last hour."""
    used, unlimited = _("Slots used"), markup('<span class="text-secondary">{}</span>', _("no limit"))
    return joined(
        markup(
            ROW,
            key=short(f"{lane.pool} {lane.lane}"),
            url=url("lane", pool=lane.pool, lane=lane.lane),
            label=breakable(cut(lane.label, 80)),
            notes=_notes(lane),
            pool=markup('<span class="under">{}</span>', lane.pool) if names_pool else "",
            ready=count(lane.ready),
            active=count(lane.active),
            slots=_slots(lane, used) if lane.limit else unlimited,
            oldest=since(lane.oldest_ms),
            empty_in=empty_in(lane),
            spark_class=spark_class,
            spark=chart.svg(chart.spark(trends.get((lane.pool, lane.lane)))),
        )
        for lane in lanes
    )


def empty_in(lane: LaneRow) -> SafeString | str:
    """When all that waits in a lane has run."""
    if not lane.ready:
        return NOTHING
    if lane.drain_s is not None:
        return about(lane.drain_s)
    if lane.drain_reason == UNKNOWN:
        return markup('<span title="{}">{}</span>', _("No such task has run within half an hour"), _("unknown"))
    return markup('<span class="bad">{}</span>', _("never")) if lane.drain_reason else NOTHING


def _notes(lane: LaneRow) -> SafeString:
    """That the lane is paused, and what keeps its waiting tasks from a start."""
    paused = markup(NOTE, icon("player-pause"), _("paused")) if lane.paused else markup("")
    bound = bound_of(lane)
    return paused + markup(NOTE, icon("hourglass"), bound) if bound else paused


def _slots(lane: LaneRow, label: str) -> SafeString:
    return markup(
        '<meter min="0" max="{}" value="{}" aria-label="{}"></meter> <span class="text-secondary">{}/{}</span>',
        lane.limit,
        lane.active,
        label,
        count(lane.active),
        count(lane.limit),
    )
