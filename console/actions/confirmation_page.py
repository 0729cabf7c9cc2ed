"""The page between a click and its deed: it asks for what is missing, and whether it is meant."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from console.actions.catalog import REASONED, Deed
from console.actions.confirm import is_confirmed, need
from console.actions.selection import Choice
from console.actions.side_effects import told_before
from console.audit.log import recorded
from console.http import redirects
from console.models import Outcome
from console.ui.forms import DeedForm
from console.ui.render import page
from queueops.errors import QueueOpsError


def unanswered(
    request: HttpRequest,
    deed: Deed,
    choice: Choice,
    form: DeedForm,
    otherwise: str = "tasks",
    effects: tuple[str, ...] = (),
) -> HttpResponse | None:
    """The page that asks, or None when all is said and the deed may be done; `effects` are told with what it does.

    A store that cannot say what else the deed would do ends it here, which is in the audit log, too.
    """
    try:
        effects = (*effects, *told_before(deed, choice))
    except QueueOpsError:
        with recorded(request, deed.verb, choice.title(), tasks=choice.tasks) as entry:
            entry.outcome = Outcome.FAILED  # nothing was done
            raise
    needed = need(len(choice), irreversible=deed.irreversible, far_reaching=deed.asks_first or bool(effects))
    confirmed, valid = is_confirmed(needed, len(choice), request.POST.dict()), form.is_valid()
    if confirmed and valid:
        return None
    answered_before = "confirmed" in request.POST
    context = {
        "deed": deed,
        "choice": choice,
        "form": form,
        "needed": needed,
        "effects": effects,
        "reasoned": deed.verb in REASONED,
        "next": redirects.address(request, otherwise),
        "wrong": answered_before and not confirmed,
        "reason": request.POST.get("reason", ""),
        "action": request.path,
    }
    return page(request, "confirm.html", context, status=422 if answered_before else 200)
