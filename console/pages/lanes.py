"""Lane pages: pools and their lanes, with waiting tasks, limits, rates and weights."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse

from console.actions.catalog import Action
from console.actions.perform import answer, perform
from console.actions.selection import Thing
from console.http import redirects
from console.pages import history
from console.ui.forms import LaneForm
from console.ui.kind_pages import pieces_at
from console.ui.links import url
from console.ui.list_order import in_place, natural
from console.ui.narrowed import Columns, narrowed
from console.ui.render import fragment, live_update, page
from queueops import control, inspect
from queueops.inspect import FilterError, LaneRow
from queueops.model.explained import explained

READING_AGE_S = 1.0
"""So old the reading behind a live update may be: many open pages cost the store one reading a second."""
FACTS = ("pool", "lane", "limit", "rate", "weight", "paused")
COLUMNS: Columns[LaneRow] = Columns(
    words=lambda lane: (f"{lane.pool}/{lane.lane}", lane.label),
    keys={
        "lane": lambda lane: natural(lane.label),
        "pool": lambda lane: natural(lane.pool),
        "ready": lambda lane: lane.ready,
        "active": lambda lane: lane.active,
        "oldest": lambda lane: lane.oldest_ms,
    },
)
ACTIONS: dict[str, Action] = {
    "pause": Action("pause", lambda pool, lane, **_: control.pause_lane(pool, lane), url="lane-pause"),
    "resume": Action("resume", lambda pool, lane, **_: control.resume_lane(pool, lane), url="lane-resume"),
}
SET = Action("set_lane", lambda pool, lane, *, who, **wanted: control.set_lane(pool, lane, **wanted), url="lane-set")


def index(request: HttpRequest) -> HttpResponse:
    """One page of all lanes."""
    return page(request, "lanes/page.html", _context(request))


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of the page."""
    return fragment(request, "lanes/rows.html", _context(request, READING_AGE_S))


def act(request: HttpRequest, pool: str, lane: str, verb: str) -> HttpResponse:
    """Pause the lane, so that it starts nothing while running tasks go on; or resume it."""
    return answer(request, ACTIONS[verb], _thing(pool, lane, paused=verb == "pause"), "lanes")


def change(request: HttpRequest, pool: str, lane: str) -> HttpResponse:
    """Set the lane's limit, rate and weight."""
    form = LaneForm(request.POST)
    if not form.is_valid():
        context = _context(request) | {"wrong": form, "wrong_pool": pool, "wrong_lane": lane}
        return page(request, "lanes/page.html", context, status=422)
    perform(request, SET, _thing(pool, lane, **form.cleaned_data), form.cleaned_data)
    return redirects.back(request, "lanes")


def _thing(pool: str, lane: str, **changed: Any) -> Thing:
    """The lane with its facts, and those that change; 404 without the lane."""
    found = inspect.lane(pool, lane)
    if found is None:
        raise Http404
    facts = {name: getattr(found.row, name) for name in FACTS}
    return Thing.named(pool, lane, facts, facts | changed)


def _context(request: HttpRequest, max_age_s: float = 0.0) -> dict[str, Any]:
    """A page of lanes, read now or up to `max_age_s` seconds ago.

    The first page has the parts that kinds add.
    """
    after, fault = request.GET.get("after", ""), ""
    try:
        found = inspect.lane_page(after=after, max_age_s=max_age_s)
    except FilterError as error:
        found, fault = inspect.LanePage(rows=()), explained(error)
    pieces = [] if after else pieces_at("lanes", READING_AGE_S)
    shown_lanes = narrowed(url("lanes"), request.GET, in_place(found.rows), COLUMNS, after=after)
    lanes = inspect.Listing(shown_lanes.rows, found.broken)
    trends = inspect.lane_trends(((lane.pool, lane.lane) for lane in lanes), max_age_s=history.READING_AGE_S)
    shown = list(trends.values())
    others = [piece.context for piece in pieces]
    update = live_update(url("lanes-rows"), after, lanes, others, lanes.broken, shown, **shown_lanes.params)
    return {
        "lanes": lanes,
        "pieces": pieces,
        "trends": trends,
        "fault": fault,
        "list": shown_lanes,
        "here": shown_lanes.here,
        "first_url": url("lanes") if after else "",
        "next_url": url("lanes", {"after": found.next, "f": shown_lanes.text}) if found.next else "",
        **update,
    }
