"""Backfill of a schedule: a range, its runs before they are created, and the action that creates them."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from console.actions.catalog import Action
from console.actions.perform import do, tell
from console.kinds.schedules.schedule_pages import facts, find, thing
from console.models import Outcome
from console.ui import formatting
from console.ui.links import url
from console.ui.notices import notice
from console.ui.render import page
from queueops import control, inspect
from queueops.errors import QueueOpsError
from queueops.inspect import ScheduleDetail
from queueops.model.explained import explained
from queueops.schedules.backfill import read_time

BOUNDS = ("since", "until")


def show(request: HttpRequest, id: str) -> HttpResponse:
    """The form, and the runs of the range that it names."""
    return _page(request, find(request, id), request.GET)


def perform(request: HttpRequest, id: str) -> HttpResponse:
    """Create the runs; after an error the page shows the range again, with the reason."""
    schedule, made = find(request, id), control.Backfilled(0, 0)
    try:
        since, until = _times(schedule, request.POST)
        count = inspect.backfill(schedule.line, schedule.zone, since, until).count
    except QueueOpsError:
        return _page(request, schedule, request.POST, status=422)

    def call(pool: str, id: str, who: str) -> None:
        nonlocal made
        made = control.backfill_schedule(id, since, until, pool=pool, who=who)

    becomes = facts(schedule) | {name: request.POST[name] for name in BOUNDS} | {"runs": count}
    entry = do(request, Action("backfill_schedule", call), thing(schedule, becomes), {})
    if entry.outcome == Outcome.DONE:
        told = {"created": formatting.count(made.created), "existed": formatting.count(made.existed)}
        notice(
            request, messages.SUCCESS, _("Backfill: %(created)s runs were created, %(existed)s existed already.") % told
        )
    else:
        tell(request, entry)
    return redirect(url("schedule", {"pool": schedule.pool}, id=id))


def _times(schedule: ScheduleDetail, query: Any) -> tuple[int, int]:
    """The range in the zone of the schedule. Raises BadOption."""
    since, until = (read_time(query.get(name, ""), schedule.zone or "UTC", name) for name in BOUNDS)
    return since, until


def _page(request: HttpRequest, schedule: ScheduleDetail, query: Any, *, status: int = 200) -> HttpResponse:
    context: dict[str, Any] = {"schedule": schedule, **{name: query.get(name, "")[:40] for name in BOUNDS}}
    if any(context[name] for name in BOUNDS):
        try:
            context["plan"] = inspect.backfill(schedule.line, schedule.zone, *_times(schedule, query))
        except QueueOpsError as error:
            context["wrong"], status = explained(error), max(status, 422)
    return page(request, "schedules/backfill.html", context, status=status)
