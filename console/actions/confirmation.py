"""Confirmation: whether an action asks first, and the page between the click and the action.

An action asks first if it is irreversible, has `asks_first`, has side effects, or is for more than AT_ONCE rows. If it
is irreversible or for more than ASK rows, the user types the count and a reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import partial

from django.http import HttpRequest, HttpResponse

from console.actions.catalog import Action, is_reasoned, sentence
from console.actions.selection import AT_ONCE, Choice
from console.audit.log import recorded
from console.http import redirects
from console.models import Outcome
from console.ui.forms import ActionForm
from console.ui.render import page
from queueops.errors import QueueOpsError

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
    """Whether the submitted form confirms exactly this number, typed with separators of thousands or without."""
    if needed is Need.NOTHING:
        return True
    if sent.get("confirmed") != str(count):
        return False
    typed = re.sub(r"(?<=\d)[\s.,'’](?=\d{3}(?!\d))", "", sent.get("typed", "").strip())
    return needed is Need.ASK or (typed == str(count) and bool(sent.get("reason", "").strip()))


def unanswered(
    request: HttpRequest, action: Action, choice: Choice, form: ActionForm, otherwise: str = "tasks"
) -> HttpResponse | None:
    """The page that asks, or None when the action may run.

    If the store cannot tell the side effects, the action fails here. The audit log has that failure too.
    """
    try:
        effects = choice.effects(action.verb)
    except QueueOpsError:
        with recorded(request, action.verb, choice.target(), **choice.facts()) as entry:
            entry.outcome = Outcome.FAILED  # the action was not performed
            raise
    asks = action.asks_first or bool(effects) or choice.always_asks(action.verb)
    needed = partial(need, irreversible=action.irreversible, far_reaching=asks)
    sent = request.POST.dict()
    number = choice.expected(sent.get("confirmed", ""))
    confirmed = is_confirmed(needed(number), number, sent)
    if form.is_valid() and confirmed:
        return None
    answered_before = "confirmed" in sent
    was_filled = answered_before or any(name in sent for name in form.fields)
    context = {
        "action": action,
        "choice": choice,
        "count": len(choice),
        "button": sentence(action, choice.number()),
        "heading": sentence(action, whole) if (whole := choice.all_of_them()) else "",
        "fields": choice.fields,
        "form": form if was_filled else action.form(),  # the first question has no errors
        "needed": needed(len(choice)),
        "effects": effects,
        "reasoned": is_reasoned(action) or choice.asks_reason,
        "next": redirects.address(request, otherwise),
        "wrong": answered_before and not confirmed,
        "reason": sent.get("reason", ""),
        "address": request.get_full_path(),
    }
    return page(request, choice.question, context, status=422 if answered_before else 200)
