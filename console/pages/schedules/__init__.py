"""Schedule pages: each schedule's next run, its history, and the actions on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from console.actions.catalog import Action, label
from console.actions.confirmation_page import unanswered
from console.actions.perform import tell
from console.actions.selection import Choice
from console.audit.log import attempt
from console.http import redirects
from console.models import AuditEntry
from console.ui.forms import ActionForm
from console.ui.natural_order import natural
from console.ui.render import fragment, page, version_of
from queueops import control, inspect
from queueops.inspect import ScheduleDetail
from queueops.inspect.redaction import KEPT
from queueops.model.redact import cut

RUNS = 5
DELETE = Action(
    "delete",
    _("Delete the schedule"),
    "trash",
    lambda ids, pool, who: (),  # it is performed by `delete`; the confirmation page uses these texts
    irreversible=True,
    note=_("Its history goes with it; the tasks that it created stay."),
)


def index(request: HttpRequest) -> HttpResponse:
    """All schedules."""
    return page(request, "schedules/page.html", _list())


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of all schedules."""
    return fragment(request, "schedules/rows.html", _list())


def show(request: HttpRequest, id: str) -> HttpResponse:
    """One schedule: its next runs and its history."""
    return page(request, "schedules/one.html", _one(request, id))


def live(request: HttpRequest, id: str) -> HttpResponse:
    """The live update of one schedule."""
    return fragment(request, "schedules/live.html", _one(request, id))


def act(request: HttpRequest, id: str, verb: str) -> HttpResponse:
    """Pause or resume the schedule, or run its task now."""
    schedule = find(request, id)
    who = request.user.get_username()
    calls: dict[str, Callable[[], Any]] = {
        "pause": lambda: control.pause_schedule(schedule.id, pool=schedule.pool, who=who),
        "resume": lambda: control.resume_schedule(schedule.id, pool=schedule.pool, who=who),
        "run": lambda: control.run_schedule(schedule.id, pool=schedule.pool, who=who),
    }
    change: dict[str, Any] = {"run": {}, "pause": {"paused": True}, "resume": {"paused": False}}[verb]
    entry = record(request, f"{verb}_schedule", schedule, calls[verb], facts(schedule) | change)
    tell(request, entry, label(entry.verb))
    return redirects.back(request, "schedules")


def delete(request: HttpRequest, id: str) -> HttpResponse:
    """Delete the schedule, once confirmed."""
    schedule = find(request, id)
    choice = Choice(((schedule.pool, schedule.id),))
    if question := unanswered(request, DELETE, choice, ActionForm(request.POST), "schedules"):
        return question
    who = request.user.get_username()
    entry = record(
        request,
        "delete_schedule",
        schedule,
        lambda: control.delete_schedule(schedule.id, pool=schedule.pool, who=who),
        {},
    )
    tell(request, entry, label(entry.verb))
    return redirect("console:schedules")


def find(request: HttpRequest, id: str) -> ScheduleDetail:
    """The schedule of this id, in the pool that the URL or the form names, or in any; else 404."""
    found = inspect.schedule(id, request.GET.get("pool", "") or request.POST.get("pool", ""), runs=RUNS)
    if found is None:
        raise Http404
    return found


def record(
    request: HttpRequest, verb: str, schedule: ScheduleDetail, call: Callable[[], Any], after: dict[str, Any]
) -> AuditEntry:
    """Perform the action and write an audit entry."""
    return attempt(request, verb, f"{schedule.pool}/{schedule.id}", call, before=facts(schedule), after=after)


def facts(schedule: ScheduleDetail) -> dict[str, Any]:
    """The facts of a schedule for the audit log."""
    names = ("id", "pool", "task", "line", "zone", "catch_up", "overlap")
    return {name: getattr(schedule, name) for name in names} | {
        "jitter": schedule.jitter_ms / 1000,
        "args": cut(schedule.args_json, KEPT),
        "paused": schedule.paused_ms is not None,
    }


def _list() -> dict[str, Any]:
    found, unkept = inspect.schedules(), inspect.unkept_schedules()
    schedules = inspect.Listing(sorted(found, key=lambda row: (natural(row.id), row.pool)), found.broken)
    version = version_of(schedules, unkept, found.broken)
    address = f"{reverse('console:schedules-rows')}?v={version}"
    late = any(row.condition == "late" for row in found)
    return {"schedules": schedules, "unkept": unkept, "late": late, "version": version, "live_url": address}


def _one(request: HttpRequest, id: str) -> dict[str, Any]:
    schedule = find(request, id)
    version = version_of(schedule)
    live = f"{reverse('console:schedule-live', kwargs={'id': id})}?{urlencode({'pool': schedule.pool, 'v': version})}"
    return {"schedule": schedule, "version": version, "live_url": live}
