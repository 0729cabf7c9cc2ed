"""Taking an action back."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from console import returning
from console.act import tell
from console.audit import judge, recorded, tolerated
from console.deeds import UNDO
from console.models import AuditEntry
from console.page import Frame
from console.permissions import TABLE
from console.undo import Step, steps


def undo(request: HttpRequest, pk: int) -> HttpResponse:
    """Do the inverse of an entry's action, where that is still possible; it needs the permission of the action."""
    entry = get_object_or_404(AuditEntry, pk=pk)
    if permission(entry) not in Frame(request).may:
        raise PermissionDenied
    if not (found := steps(entry, request.user.get_username())):
        messages.warning(request, _("There is nothing left to undo."))
        return returning.back(request, "audit")
    tell(request, _take_back(request, entry, found), _("Undone"))
    return returning.back(request, "audit")


def undoable(entry: AuditEntry, request: HttpRequest) -> bool:
    """Whether this user can take this entry's action back now."""
    return permission(entry) in Frame(request).may and bool(steps(entry))


def permission(entry: AuditEntry) -> str | None:
    """What the user must be allowed to take this back."""
    if entry.ids:
        return TABLE.get(f"task-{entry.verb}")
    return TABLE["lane-set"]


def _take_back(request: HttpRequest, entry: AuditEntry, found: list[Step]) -> AuditEntry:
    tasks = [(step.pool, id) for step in found for id in step.ids]
    with tolerated(), recorded(request, UNDO + entry.verb, entry.target, tasks=tasks, undoes=entry) as undoing:
        undoing.before = {} if tasks else entry.after
        for step in found:
            answer = step.call()
            if step.ids:
                judge(undoing, step.pool, answer)
        undoing.after |= {} if tasks else entry.before
    return undoing
