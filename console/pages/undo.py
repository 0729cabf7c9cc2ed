"""Undo views: take an action back, at once or in steps."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta
from time import monotonic
from typing import Any

from django.contrib import messages
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from console.access.pools import granted_in, pools_of_entry
from console.actions import bulk, operations
from console.actions.bulk_parts import alone, find_out, recount
from console.actions.catalog import UNDO
from console.actions.perform import tell
from console.actions.undo import has_way_back, in_a_step, is_open, open_parts, permission, steps
from console.audit.log import begin, judge, recorded, tolerated
from console.http import redirects
from console.models import AuditEntry
from console.ui.links import url
from console.ui.notices import notice

GOING = timedelta(minutes=1)
"""After a step its page goes on by itself for so long; it does within a second."""


def undo(request: HttpRequest, pk: int) -> HttpResponse:
    """Undo an entry's action as far as possible; it needs the permission of that action."""
    entry = get_object_or_404(AuditEntry, pk=pk)
    if permission(entry) not in granted_in(request.user, pools_of_entry(entry)):
        raise PermissionDenied
    if entry.operations:
        return _by_workers(request, entry)
    if entry.goes_on and has_way_back(entry):
        _stop(entry)
    if is_open(entry):
        find_out(entry, spare_steps=True)
        entry.refresh_from_db()
    if entry.is_mass and (is_open(entry) or entry.undone_by.filter(place="").exists()):
        if whole := _begin_parts(request, entry):
            return go_on(request, whole)
    elif undoing := _take_back(request, entry):
        tell(request, undoing, _("Undone"))
        return redirects.back(request, "audit")
    notice(request, messages.WARNING, _("There is nothing left to undo."))
    return redirects.back(request, "audit")


def _by_workers(request: HttpRequest, entry: AuditEntry) -> HttpResponse:
    """Undo what workers did, by workers; a second request at the same time finds that it has begun."""
    if entry.goes_on:
        operations.steer(entry, "stop", request.user.get_username())
    operations.refresh(entry)
    with alone(entry):
        undoing = operations.entry_of_undo(request, entry) if is_open(entry) else None
    if undoing is None:
        notice(request, messages.WARNING, _("There is nothing left to undo."))
        return redirects.back(request, "audit")
    operations.undo(undoing)
    return redirect(url("audit-entry", pk=undoing.pk))


def undoable(entry: AuditEntry, request: HttpRequest) -> bool:
    """Whether this user can undo this entry's action now."""
    return permission(entry) in granted_in(request.user, pools_of_entry(entry)) and is_open(entry)


def go_on(request: HttpRequest, whole: AuditEntry) -> HttpResponse:
    """Undo parts of the action that `whole` undoes, as many as the time allows."""
    until = monotonic() + bulk.SECONDS
    if whole.undoes:
        find_out(whole.undoes, spare_steps=True)
    for part in open_parts(whole.undoes) if whole.undoes else ():
        if not (undoing := _take_back(request, part, part_of=whole)):
            continue
        recount(whole)
        if not whole.goes_on:
            bulk.end(whole)  # another request ended the undo before this part was counted
        if not whole.detail:
            AuditEntry.objects.filter(pk=whole.pk).update(detail=undoing.detail)
        if monotonic() > until:
            break
    else:
        if not (whole.undoes and in_a_step(whole.undoes).exists()):
            bulk.end(whole)
    if whole.place is None:
        tell(request, whole)
    return redirect(progress_url(request, whole))


def progress_url(request: HttpRequest, entry: AuditEntry) -> str:
    """The URL of an action's progress page; in the browser of the acting user the page continues the steps itself."""
    return url("audit-entry", {"going": entry.goes_on and signing.dumps(_goer(request, entry))}, pk=entry.pk)


def goes_by_itself(request: HttpRequest, entry: AuditEntry) -> bool:
    """Whether this user performed a step just now; a link from another user, or an old one, does nothing."""
    try:
        goer = signing.loads(request.GET.get("going", ""), max_age=GOING)
    except signing.BadSignature:
        return False
    return entry.goes_on and goer == _goer(request, entry)


def _goer(request: HttpRequest, entry: AuditEntry) -> list[str]:
    return ["going", str(entry.pk), str(request.user.pk)]


def _stop(entry: AuditEntry) -> None:
    """Stop an action that is being undone, in all windows; a step under way ends, and is undone then."""
    AuditEntry.objects.filter(pk=entry.pk, detail="").update(detail=gettext_noop("it was undone before its end"))
    bulk.end(entry)


def _begin_parts(request: HttpRequest, entry: AuditEntry) -> AuditEntry | None:
    """The entry of an undo in steps that the page continues; a second undo of the same action continues the first.

    None if another request has undone all since this one looked.
    """
    facts = {"count": entry.changed, "filter": entry.filter, "undoes": entry, "place": ""}
    with alone(entry):
        if begun := entry.undone_by.filter(place="").first():
            return begun
        return begin(request, UNDO + entry.verb, entry.target, **facts) if is_open(entry) else None


def _take_back(request: HttpRequest, entry: AuditEntry, **facts: Any) -> AuditEntry | None:
    """Undo what no other request undoes; None if nothing is left."""
    with tolerated(), ExitStack() as stack:
        with alone(entry):
            if not (found := steps(entry, request.user.get_username())):
                return None
            tasks = [(step.pool, id) for step in found for id in step.ids]
            facts |= {"tasks": tasks, "undoes": entry}
            undoing = stack.enter_context(recorded(request, UNDO + entry.verb, entry.target, **facts))
        undoing.before = {} if tasks else entry.after
        for step in found:
            answer = step.call()
            if step.ids:
                judge(undoing, step.pool, answer)
        undoing.after |= {} if tasks else entry.before
    return undoing
