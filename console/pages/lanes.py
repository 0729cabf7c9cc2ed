"""Lane pages: pools and their lanes, with waiting tasks, limits, rates and weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from console.actions.catalog import label
from console.actions.perform import tell
from console.audit.log import attempt
from console.http import redirects
from console.ui.forms import LaneForm
from console.ui.lane_order import in_place
from console.ui.render import fragment, page, version_of
from queueops import control, inspect
from queueops.inspect import LaneRow


def index(request: HttpRequest) -> HttpResponse:
    """All lanes."""
    return page(request, "lanes/page.html", _context())


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of all lanes."""
    return fragment(request, "lanes/rows.html", _context())


def pause(request: HttpRequest, pool: str, lane: str) -> HttpResponse:
    """Pause the lane: it starts nothing until it is resumed; running tasks go on."""
    return _act(request, "pause", pool, lane, lambda: control.pause_lane(pool, lane), paused=True)


def resume(request: HttpRequest, pool: str, lane: str) -> HttpResponse:
    """Resume the lane: it starts tasks again."""
    return _act(request, "resume", pool, lane, lambda: control.resume_lane(pool, lane), paused=False)


def change(request: HttpRequest, pool: str, lane: str) -> HttpResponse:
    """Set the lane's limit, rate and weight."""
    form = LaneForm(request.POST)
    if not form.is_valid():
        context = _context() | {"wrong": form, "wrong_pool": pool, "wrong_lane": lane}
        return page(request, "lanes/page.html", context, status=422)
    wanted = form.cleaned_data
    return _act(request, "set_lane", pool, lane, lambda: control.set_lane(pool, lane, **wanted), **wanted)


def _act(
    request: HttpRequest, verb: str, pool: str, lane: str, call: Callable[[], Any], **changed: Any
) -> HttpResponse:
    was = next((row for row in inspect.lanes() if (row.pool, row.lane) == (pool, lane)), None)
    if was is None:
        raise Http404
    entry = attempt(request, verb, f"{pool}/{lane}", call, before=_facts(was), after=_facts(was) | changed)
    tell(request, entry, label(entry.verb))
    return redirects.back(request, "lanes")


def _facts(row: LaneRow) -> dict[str, Any]:
    values = {"limit": row.limit, "rate": row.rate, "weight": row.weight, "paused": row.paused}
    return {"pool": row.pool, "lane": row.lane, **values}


def _context() -> dict[str, Any]:
    found, chunk_lanes = inspect.lanes(), inspect.chunk_lanes()
    lanes = inspect.Listing(in_place(found), found.broken)
    version = version_of(lanes, chunk_lanes, lanes.broken)
    live_url = f"{reverse('console:lanes-rows')}?v={version}"
    return {"lanes": lanes, "chunk_lanes": chunk_lanes, "version": version, "live_url": live_url}
