"""Confirmation page: shown between the click and the action; asks for missing input and for the confirmation."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from console.actions.catalog import REASONED, Action
from console.actions.confirm_thresholds import is_confirmed, need
from console.actions.selection import Choice
from console.actions.side_effects import told_before
from console.audit.log import recorded
from console.http import redirects
from console.models import Outcome
from console.ui.forms import ActionForm
from console.ui.render import page
from queueops.errors import QueueOpsError


def unanswered(
    request: HttpRequest,
    action: Action,
    choice: Choice,
    form: ActionForm,
    otherwise: str = "tasks",
    effects: tuple[str, ...] = (),
) -> HttpResponse | None:
    """The page that asks, or None when the action may run; `effects` are shown with its side effects.

    If the store cannot tell the side effects, the action fails here. The audit log has that failure too.
    """
    try:
        effects = (*effects, *told_before(action, choice))
    except QueueOpsError:
        with recorded(request, action.verb, choice.title(), tasks=choice.tasks) as entry:
            entry.outcome = Outcome.FAILED  # the action was not performed
            raise
    needed = need(len(choice), irreversible=action.irreversible, far_reaching=action.asks_first or bool(effects))
    confirmed, valid = is_confirmed(needed, len(choice), request.POST.dict()), form.is_valid()
    if confirmed and valid:
        return None
    answered_before = "confirmed" in request.POST
    context = {
        "action": action,
        "choice": choice,
        "form": form,
        "needed": needed,
        "effects": effects,
        "reasoned": action.verb in REASONED,
        "next": redirects.address(request, otherwise),
        "wrong": answered_before and not confirmed,
        "reason": request.POST.get("reason", ""),
        "address": request.path,
    }
    return page(request, "confirm.html", context, status=422 if answered_before else 200)
