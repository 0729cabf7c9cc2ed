"""Error triage: resolve an error, mute it for a time, assign it to a user, and leave a note."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from console.actions.catalog import Action
from console.actions.perform import perform
from console.actions.selection import Thing
from console.models import ErrorTriage
from console.pages import errors
from console.ui.error_groups import facts
from console.ui.error_names import error_name
from console.ui.links import url
from console.ui.render import page
from console.ui.triage_form import TriageForm
from queueops import control, inspect


def _write(_pool: str, fingerprint: str, *, who: str, **values: Any) -> None:
    """Keep what is noted, and tell the store of a change of the mute: the watchdog's alerts heed it, too."""
    if "muted_until_ms" in values:
        control.mute_error(fingerprint, values.pop("muted_until_ms"))
    ErrorTriage.objects.update_or_create(fingerprint=fingerprint, defaults=values)


ACTIONS = {
    "resolve": Action("resolve_error", _write, url="error-resolve"),
    "reopen": Action("reopen_error", _write, url="error-reopen"),
    "note": Action("note_error", _write, url="error-note"),
}


class _Error(Thing, frozen=True, kw_only=True):
    """One error, by its fingerprint."""

    def target(self) -> str:
        """Its type and its fingerprint."""
        return error_name(self.tasks[0][1])


def act(request: HttpRequest, fingerprint: str, verb: str) -> HttpResponse:
    """Resolve the error, which comes again with its next failure; reopen it; or save mute, user and note."""
    group = errors.group_of(fingerprint)
    if group is None:
        raise Http404
    form = TriageForm(group, request.POST)
    if verb == "note" and not form.is_valid():
        return page(request, "errors/one.html", errors.context_of(request, group) | {"triage": form}, status=422)
    resolved = max(inspect.now_ms(), group.last_ms) if verb == "resolve" else None
    values = form.values(group) if verb == "note" else {"resolved_ms": resolved}
    was = facts(group)
    told = {name: value for name, value in values.items() if name != "note"}
    note = {"reason": values["note"]} if values.get("note") else {}
    thing = _Error.named("", fingerprint, dict(was), dict(was) | told)
    perform(request, ACTIONS[verb], thing, values, **note)
    return redirect(url("error", fingerprint=fingerprint))
