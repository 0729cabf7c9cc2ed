"""Confirmation: whether an action asks first, and the page between the click and the action.

An action asks first by the number of things, by whether it can be undone, and by its side effects on other tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from django.http import HttpRequest, HttpResponse

from console.actions.catalog import REASONED, Action
from console.actions.selection import Choice
from console.audit.log import recorded
from console.http import redirects
from console.models import Outcome
from console.ui.forms import ActionForm
from console.ui.render import page
from queueops import inspect
from queueops.errors import QueueOpsError
from queueops.inspect import REACHING, TaskDetail

AT_ONCE = 20  # reversible, up to here: act, and offer an undo
ASK = 1000  # reversible, up to here: ask, and show the count


class Need(StrEnum):
    """The confirmation that an action needs."""

    NOTHING = "nothing"
    ASK = "ask"
    TYPE = "type"  # type the count and give a reason


def need(count: int, *, irreversible: bool, far_reaching: bool = False) -> Need:
    """The confirmation for an action on `count` rows; a far-reaching action is confirmed even for one row."""
    if irreversible or count > ASK:
        return Need.TYPE
    return Need.NOTHING if count <= AT_ONCE and not far_reaching else Need.ASK


def is_confirmed(needed: Need, count: int, sent: Mapping[str, str]) -> bool:
    """Whether the submitted form confirms exactly this number."""
    if needed is Need.NOTHING:
        return True
    if sent.get("confirmed") != str(count):
        return False
    return needed is Need.ASK or (sent.get("typed", "").strip() == str(count) and bool(sent.get("reason", "").strip()))


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
        effects = (*effects, *_side_effects(action.verb, choice))
    except QueueOpsError:
        with recorded(request, action.verb, choice.target(), **choice.facts()) as entry:
            entry.outcome = Outcome.FAILED  # the action was not performed
            raise
    needed = need(len(choice), irreversible=action.irreversible, far_reaching=action.asks_first or bool(effects))
    sent = request.POST.dict()
    confirmed, valid = is_confirmed(needed, choice.expected(sent.get("confirmed", "")), sent), form.is_valid()
    if confirmed and valid:
        return None
    answered_before = "confirmed" in sent
    context = {
        "action": action,
        "choice": choice,
        "count": len(choice),
        "fields": choice.fields,
        "form": form,
        "needed": needed,
        "effects": effects,
        "reasoned": action.verb in REASONED,
        "next": redirects.address(request, otherwise),
        "wrong": answered_before and not confirmed,
        "reason": sent.get("reason", ""),
        "address": request.path,
    }
    return page(request, choice.question, context, status=422 if answered_before else 200)


def _side_effects(verb: str, choice: Choice) -> tuple[str, ...]:
    """One sentence for each side effect on other tasks; for more than AT_ONCE tasks only the general rule."""
    if verb not in REACHING:
        return ()
    if len(choice) > AT_ONCE:
        return (REACHING[verb],)
    tasks = (task for task in choice.found.values() if isinstance(task, TaskDetail))
    return tuple(dict.fromkeys(effect for task in tasks for effect in inspect.effects(verb, task)))
