"""Steering of operations: pause, resume and stop a bulk action of workers; dismiss the bar of an ended one."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from console.access.pools import granted_in, pools_of_entry
from console.actions import operations
from console.actions.perform import tell
from console.actions.undo import permission
from console.audit.log import recorded, tolerated
from console.http import redirects
from console.models import AuditEntry, Outcome


def steer(request: HttpRequest, pk: int) -> HttpResponse:
    """Pause, resume or stop the operations of an entry; it needs the permission of their action."""
    entry = get_object_or_404(AuditEntry, pk=pk)
    if permission(entry) not in granted_in(request.user, pools_of_entry(entry)):
        raise PermissionDenied
    what = request.POST.get("what", "pause")
    if what not in operations.STEERING:
        raise SuspiciousOperation(_("There is no such action."))
    with tolerated(), recorded(request, f"{what}_operation", f"{entry.verb} {entry.target}") as steering:
        if not operations.steer(entry, what, steering.actor_name):
            steering.outcome, steering.detail = Outcome.REFUSED, _("it has ended, or it is so already")
    tell(request, steering)
    return redirects.back(request, "audit")


def dismiss(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the bar of an ended operation no more, in this session alone. The audit log keeps the entry."""
    operations.dismiss(request, pk)
    return redirects.back(request, "audit")
