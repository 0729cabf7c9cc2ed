"""Schedule pages: each schedule's next run, its history, and the actions on it."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from console.actions.catalog import Action
from console.actions.perform import answer
from console.actions.selection import Thing
from console.ui.links import url
from console.ui.list_order import natural
from console.ui.narrowed import Columns, narrowed
from console.ui.render import fragment, live_update, page
from queueops import control, inspect
from queueops.inspect import ScheduleDetail, ScheduleRow
from queueops.inspect.redaction import KEPT
from queueops.model.redact import cut

RUNS = 5
ACTIONS: dict[str, Action] = {
    "pause": Action(
        "pause_schedule", lambda pool, id, who: control.pause_schedule(id, pool=pool, who=who), url="schedule-pause"
    ),
    "resume": Action(
        "resume_schedule", lambda pool, id, who: control.resume_schedule(id, pool=pool, who=who), url="schedule-resume"
    ),
    "run": Action(
        "run_schedule", lambda pool, id, who: control.run_schedule(id, pool=pool, who=who), url="schedule-run"
    ),
    "delete": Action(
        "delete_schedule",
        lambda pool, id, who: control.delete_schedule(id, pool=pool, who=who),
        _("Delete the schedule"),
        "trash",
        irreversible=True,
        note=_("Deletes the schedule with its history. Tasks that it pushed stay."),
        url="schedule-delete",
    ),
}
CHANGES: dict[str, dict[str, Any]] = {"pause": {"paused": True}, "resume": {"paused": False}}
"""The facts that an action changes."""


COLUMNS: Columns[ScheduleRow] = Columns(
    words=lambda row: (row.id, row.task, row.line, row.pool, row.condition, row.source, row.last_state),
    keys={
        "schedule": lambda row: natural(row.id),
        "next": lambda row: row.next_ms if row.condition == "active" else None,
        "last": lambda row: row.last_ms,
        "fired": lambda row: row.fired,
    },
)


def index(request: HttpRequest) -> HttpResponse:
    """All schedules."""
    return page(request, "schedules/page.html", _list(request))


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of all schedules."""
    return fragment(request, "schedules/rows.html", _list(request))


def show(request: HttpRequest, id: str) -> HttpResponse:
    """One schedule: its next runs and its history."""
    return page(request, "schedules/one.html", _one(request, id))


def live(request: HttpRequest, id: str) -> HttpResponse:
    """The live update of one schedule."""
    return fragment(request, "schedules/one_layout.html", _one(request, id))


def act(request: HttpRequest, id: str, verb: str) -> HttpResponse:
    """Pause or resume the schedule, run its task now, or delete the schedule."""
    schedule = find(request, id)
    becomes = {} if verb == "delete" else facts(schedule) | CHANGES.get(verb, {})
    onward = "schedules" if verb == "delete" else ""
    return answer(request, ACTIONS[verb], thing(schedule, becomes), "schedules", onward=onward)


def find(request: HttpRequest, id: str) -> ScheduleDetail:
    """The schedule of this id, in the pool that the URL or the form names, or in any; else 404."""
    found = inspect.schedule(id, request.GET.get("pool", "") or request.POST.get("pool", ""), runs=RUNS)
    if found is None:
        raise Http404
    return found


def thing(schedule: ScheduleDetail, becomes: dict[str, Any]) -> Thing:
    """The schedule as an action acts on it, with its facts before and after."""
    return Thing.named(schedule.pool, schedule.id, facts(schedule), becomes)


def facts(schedule: ScheduleDetail) -> dict[str, Any]:
    """The facts of a schedule for the audit log."""
    names = ("id", "pool", "task", "line", "zone", "catch_up", "overlap")
    return {name: getattr(schedule, name) for name in names} | {
        "jitter": schedule.jitter_ms / 1000,
        "args": cut(schedule.args_json, KEPT),
        "paused": schedule.paused_ms is not None,
    }


def _list(request: HttpRequest) -> dict[str, Any]:
    found, unkept = inspect.schedules(), inspect.unkept_schedules()
    rows = sorted(found, key=lambda row: (natural(row.id), row.pool))
    shown = narrowed(url("schedules"), request.GET, rows, COLUMNS)
    schedules = inspect.Listing(shown.rows, found.broken)
    late = any(row.condition == "late" for row in found)
    update = live_update(url("schedules-rows"), schedules, unkept, found.broken, **shown.params)
    return {"schedules": schedules, "list": shown, "unkept": unkept, "late": late, **update}


def _one(request: HttpRequest, id: str) -> dict[str, Any]:
    schedule = find(request, id)
    address = url("schedule-live", id=id)
    return {"schedule": schedule, **live_update(address, schedule, pool=schedule.pool)}
