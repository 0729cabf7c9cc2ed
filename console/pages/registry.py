"""Registry pages: the tasks that can be pushed, and a page for each task name with its figures, runs and errors."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from msgspec.structs import replace

from console.access.permissions import Verb
from console.actions.catalog import Action
from console.actions.perform import answer
from console.actions.selection import Thing
from console.diagram.run_bars import HEIGHT, PLACES, WIDTH, bars
from console.models import AuditEntry
from console.pages import history, push
from console.ui.kind_pages import pieces_at
from console.ui.links import url
from console.ui.list_order import natural
from console.ui.narrowed import Columns, narrowed
from console.ui.render import Frame, fragment, live_update, page
from queueops import control, inspect
from queueops.inspect import KnownTask, NameView

READING_AGE_S = 1.0
"""So old the reading behind a live update may be: many open pages of one name cost the store one reading a second."""

ACTIONS: dict[str, Action] = {
    "pause": Action("pause_name", lambda pool, name: control.pause_name(name, pool, new=True), url="name-pause"),
    "resume": Action("resume_name", lambda pool, name: control.resume_name(name, pool), url="name-resume"),
}


class _Name(Thing, frozen=True, kw_only=True):
    """A task name, in one pool or, without a pool, in all of them."""

    def act(self, action: Action, entry: AuditEntry, values: dict[str, Any]) -> None:
        """Pause or resume it, and record the pools where it is paused then."""
        pools, was = set(action.call(*self.tasks[0])), set(self.was["paused_in"])
        now = was | pools if action.verb == "pause_name" else was - pools
        entry.after = self.becomes | {"paused_in": sorted(now)}


COLUMNS: Columns[KnownTask] = Columns(
    words=lambda task: (task.name, task.kind, str(task.options.get("pool") or ""), task.about),
    keys={
        "name": lambda task: natural(task.name),
        "kind": lambda task: task.kind,
        "pool": lambda task: str(task.options.get("pool") or ""),
        "workers": lambda task: len(task.workers),
    },
)


def index(request: HttpRequest) -> HttpResponse:
    """All tasks, by name."""
    return page(request, "registry/page.html", _context(request))


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of all tasks."""
    return fragment(request, "registry/rows.html", _context(request))


def show(request: HttpRequest, id: str) -> HttpResponse:
    """One task name: figures, runs, errors, lanes, parts of kinds; its signature, docstring, options and workers."""
    found = _named(id)
    is_past = history.moment(request.GET) is not None  # then what kinds have of it now does not matter
    pieces = [] if is_past else pieces_at("name", id)
    frame = Frame(request)
    context = {
        "task": found.known,
        "pieces": pieces,
        "is_own": inspect.is_own_name(id),
        "may_push": push.offers(id, frame),
        "pause_in": [pool for pool in found.starts_in if Verb.CONFIGURE in frame.may_in(pool)],
        "resume_in": [pause.pool for pause in found.paused if Verb.CONFIGURE in frame.may_in(pause.pool)],
    }
    return page(request, "registry/one.html", context | _figures(found))


def live(request: HttpRequest, id: str) -> HttpResponse:
    """The live update of a name's figures, runs, lanes and errors."""
    return fragment(request, "registry/live.html", _figures(_named(id, READING_AGE_S)))


def act(request: HttpRequest, id: str, verb: str) -> HttpResponse:
    """Pause the name, so that none of its tasks starts; or resume it. In one pool, if the URL names it, else in all."""
    paused_in, pool = [pause.pool for pause in _named(id).paused], request.GET.get("pool", "")
    thing = _Name.named(pool, id, {"name": id, "paused_in": paused_in}, {"name": id})
    return answer(request, ACTIONS[verb], thing, "registry")


def _named(id: str, max_age_s: float = 0.0) -> NameView:
    found = inspect.task_name(id, max_age_s)
    if found is None:
        raise Http404
    return found


def _figures(found: NameView) -> dict[str, Any]:
    drawn = bars(found.runs, found.now_ms)
    update = live_update(url("registry-task-live", id=found.name), replace(found, now_ms=0))
    return {
        "name": found,
        "bars": drawn,
        "bars_width": max(PLACES, len(drawn)) * WIDTH,
        "bars_height": HEIGHT,
        **update,
    }


def _context(request: HttpRequest) -> dict[str, Any]:
    found = inspect.registry()
    shown = narrowed(url("registry"), request.GET, found, COLUMNS)
    known = inspect.Listing(shown.rows, found.broken)
    trends = inspect.name_trends((task.name for task in known), max_age_s=history.READING_AGE_S)
    update = live_update(url("registry-rows"), known, known.broken, trends, **shown.params)
    return {"known": known, "list": shown, "trends": trends, **update}
