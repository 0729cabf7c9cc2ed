"""Schedule editor: creates a schedule, or changes one that a user has made."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from console.actions.catalog import Action
from console.actions.perform import do, tell
from console.actions.selection import Thing
from console.kinds.schedules.form import ScheduleForm, as_sent
from console.kinds.schedules.schedule_pages import RUNS, facts, find, thing
from console.models import AuditEntry, Outcome
from console.ui.links import url
from console.ui.preferences import Preferences
from console.ui.render import page
from queueops import control, inspect
from queueops.errors import QueueOpsError
from queueops.inspect import ScheduleDetail
from queueops.inspect.redaction import masked_call
from queueops.model.explained import explained

NOTHING = {"args": "[]", "kwargs": "{}"}
ARGUMENTS = ("args", "kwargs")
TRIED = ("line", "zone", "task")


def new(request: HttpRequest) -> HttpResponse:
    """An empty form; the URL may hold a line to try."""
    initial = NOTHING | {"zone": Preferences.of(request).zone_name} | _tried(request)
    return _form(request, ScheduleForm(initial=initial))


def create(request: HttpRequest) -> HttpResponse:
    """Create the schedule; after a refusal the page shows the form again, with the reason."""
    if "preview" in request.POST:
        return _form(request, _unchecked(request))
    form = ScheduleForm(request.POST)
    if not form.is_valid():
        return _form(request, form, status=422)
    values, made = form.cleaned_data, ""

    def call(_pool: str, _name: str, who: str) -> None:
        nonlocal made
        made = control.create_schedule(values["task"], form.schedule(), id=values["id"], source="console", who=who)

    new = Thing.named("", values["id"] or values["task"], {}, _told(form))
    return _ended(request, form, do(request, Action("create_schedule", call), new, {}), made)


def edit(request: HttpRequest, id: str) -> HttpResponse:
    """The form with the values of the schedule."""
    schedule = find(request, id)
    return _form(request, ScheduleForm(initial=as_sent(schedule) | _tried(request), edited=schedule))


def save(request: HttpRequest, id: str) -> HttpResponse:
    """Save the new version, unless the schedule has changed since the form was shown."""
    schedule = find(request, id)
    if "preview" in request.POST:
        return _form(request, _unchecked(request, schedule))
    form = ScheduleForm(request.POST, edited=schedule)
    if not form.is_valid():
        return _form(request, form, status=422)
    task, seen = form.cleaned_data["task"], request.POST.get("version", "")[:32]

    def call(pool: str, id: str, who: str) -> None:
        control.update_schedule(id, form.schedule(), task=task, seen=seen, pool=pool, who=who)

    changed = thing(schedule, facts(schedule) | _told(form))
    entry = do(request, Action("edit_schedule", call), changed, {})
    return _ended(request, form, entry, schedule.id, schedule.pool)


def _ended(request: HttpRequest, form: ScheduleForm, entry: AuditEntry, id: str, pool: str = "") -> HttpResponse:
    if entry.outcome == Outcome.FAILED:
        form.add_error(None, entry.detail)
        return _form(request, form, status=422, told=True)
    tell(request, entry)
    return redirect(url("schedule", {"pool": pool}, id=id))


def _unchecked(request: HttpRequest, edited: ScheduleDetail | None = None) -> ScheduleForm:
    """The values typed so far, kept unchecked while a line is tried."""
    return ScheduleForm(initial=request.POST.dict(), edited=edited)


def _form(request: HttpRequest, form: ScheduleForm, *, status: int = 200, told: bool = False) -> HttpResponse:
    """The page of the form. With `told` the user knows of a change in between, and may overwrite it."""
    version = "" if form.edited is None or told else request.POST.get("version", "")[:32]
    version = version or ("" if form.edited is None else form.edited.version)
    context = {"form": form, "schedule": form.edited, "names": inspect.schedulable(), "version": version}
    context |= _preview(form)
    return page(request, "schedules/edit.html", context, status=status)


def _preview(form: ScheduleForm) -> dict[str, Any]:
    """The next runs of the form's line, or its error."""
    line, zone = (str(form[name].value() or "").strip() for name in ("line", "zone"))
    if not line:
        return {}
    try:
        runs, words = inspect.next_runs(line, zone, RUNS), inspect.in_words(line)
        return {"runs": runs, "zone": zone, "words": words if words != line else ""}
    except QueueOpsError as error:
        return {} if form.errors else {"wrong": explained(error)}


def _told(form: ScheduleForm) -> dict[str, Any]:
    """The facts of the form for the audit log."""
    values = form.cleaned_data
    told = {name: value for name, value in values.items() if name not in ARGUMENTS}
    return told | {"args": masked_call(values["args"], values["kwargs"], values["task"])}


def _tried(request: HttpRequest) -> dict[str, str]:
    return {name: request.GET[name][:200] for name in TRIED if request.GET.get(name)}
