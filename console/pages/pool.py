"""Pool page: figures and past of one pool, its lanes by trouble, its workers, and pause and resume of all its lanes."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from console.actions.catalog import Action
from console.actions.perform import answer
from console.actions.selection import Pool, Trash
from console.pages import history
from console.ui.formatting import count
from console.ui.links import url
from console.ui.list_order import by_trouble
from console.ui.render import fragment, live_update, page
from queueops import control, inspect
from queueops.inspect import PoolDetail

READING_AGE_S = 1.0
"""So old the reading behind a live update may be: many open pages of one pool cost the store one reading a second."""
MOST_LANES = 12
MOST_SAMPLED = 50  # lanes of a snapshot
EMPTYING_S = 10.0
"""Seconds for which one click empties the trash."""
ACTIONS: dict[str, Action] = {
    "pause": Action(
        "pause_pool",
        lambda pool, **how: control.pause_pool(pool, **how),
        _("Pause all lanes"),
        "player-pause",
        asks_first=True,
        note=_(
            "Workers claim no more tasks from the lanes that the pool has now. Running tasks continue. A lane that gets"
            " its first task later is not paused."
        ),
        url="pool-pause",
    ),
    "resume": Action(
        "resume_pool",
        lambda pool, **how: control.resume_pool(pool, **how),
        _("Resume all lanes"),
        "player-play",
        note=_("Workers claim tasks from all lanes again, also from those that were paused one by one."),
        url="pool-resume",
    ),
    "empty_trash": Action(
        "empty_trash",
        lambda pool: control.empty_trash(pool, seconds=EMPTYING_S),
        _("Empty the trash"),
        "trash",
        asks_first=True,
        note=_("Deleted tasks keep their memory for 24 hours. This frees it. They cannot be restored any more."),
        url="pool-empty_trash",
    ),
}


def show(request: HttpRequest, pool: str) -> HttpResponse:
    """One pool."""
    return page(request, "pools/one.html", _context(pool))


def live(request: HttpRequest, pool: str) -> HttpResponse:
    """The live update of a pool's figures, lanes and workers."""
    return fragment(request, "pools/live.html", _context(pool, READING_AGE_S))


def act(request: HttpRequest, pool: str, verb: str) -> HttpResponse:
    """Pause all lanes of the pool or empty its trash, once the user has confirmed it; or resume the lanes."""
    found = _found(pool)
    if verb == "empty_trash":
        held = inspect.trash(pool)
        return answer(request, ACTIONS[verb], Trash.named("", pool, {"tasks": held}, {}, (_deleted(held),)), "lanes")
    effects = (_waiting(found),) if verb == "pause" and found.view.waiting else ()
    thing = Pool.named("", pool, {"pool": pool}, {"paused": verb == "pause"}, effects)
    return answer(request, ACTIONS[verb], thing, "lanes")


def _waiting(found: PoolDetail) -> str:
    """What does not start any more."""
    text = ngettext("%(n)s task waits in this pool.", "%(n)s tasks wait in this pool.", found.view.waiting)
    return text % {"n": count(found.view.waiting)}


def _deleted(held: int) -> str:
    """What cannot be restored any more."""
    text = ngettext("%(n)s deleted task is in the trash.", "%(n)s deleted tasks are in the trash.", held)
    return text % {"n": count(held)}


def _found(pool: str, max_age_s: float = 0.0) -> PoolDetail:
    found = inspect.pool(pool, max_age_s)
    if found is None:
        raise Http404
    return found


def _context(pool: str, max_age_s: float = 0.0) -> dict[str, Any]:
    found = _found(pool, max_age_s)
    lanes = by_trouble(found.lanes, found.now_ms)[:MOST_LANES]
    trends = inspect.trends(
        lanes=[(lane.pool, lane.lane) for lane in lanes],
        workers=[(row.pools[0], row.id) for row in found.workers if row.pools],
        max_age_s=history.READING_AGE_S,
    )
    told = found.view, lanes, found.workers, found.alarms, found.broken, trends.all
    return {
        "found": found,
        "listed": pool,
        "pool": found.view,
        "lanes": lanes,
        "more": len(found.lanes) - len(lanes) if len(found.lanes) < MOST_SAMPLED else 0,  # else their number is unknown
        "workers": found.workers,
        "trends": trends,
        **live_update(url("pool-live", pool=pool), *told),
    }
