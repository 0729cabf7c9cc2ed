"""Execution of actions on chunks: writes the audit entry, calls the engine, tells the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.audit.log import recorded, tolerated
from console.kinds.mapreduce.chunk_selection import ChunkChoice
from console.models import AuditEntry, Outcome
from queueops import control
from queueops.control import ChunkAnswer

SHOWN = 5

Call = Callable[[str], ChunkAnswer]


def perform(
    request: HttpRequest,
    verb: str,
    label: str,
    choice: ChunkChoice,
    call: Call,
    *,
    after: Mapping[str, str] | None = None,
) -> AuditEntry:
    """Make the call and tell the user; an engine error is shown too, an outage is raised."""
    entry = do(request, verb, choice, call, after=after)
    tell(request, entry, label)
    return entry


def do(
    request: HttpRequest,
    verb: str,
    choice: ChunkChoice,
    call: Call,
    *,
    before: Mapping[str, str] | None = None,
    after: Mapping[str, str] | None = None,
) -> AuditEntry:
    """Make the call without telling the user; an edit gives its data `before` and `after`, masked.

    For another verb `after` holds its values besides the chunks.
    """
    chosen: dict[str, Any] = {"chunks": list(choice.numbers), "whole": list(choice.whole)}
    facts = {"before": chosen | dict(before or {}), "after": dict(after or {})}
    tasks = ((choice.pool, choice.id),)
    with tolerated(), recorded(request, f"{verb}_chunks", choice.target(), tasks=tasks, **facts) as entry:
        entry.count = choice.count
        judge(entry, verb, choice, call(entry.actor_name))
    return entry


def judge(entry: AuditEntry, verb: str, choice: ChunkChoice, answer: ChunkAnswer) -> None:
    """Store the engine's answer in the entry: how many chunks changed, why others were refused, the new state."""
    entry.changed = answer.changed
    whys = [why for _number, why in islice(control.reasons(verb, answer), SHOWN)]
    if answer.unfit:
        kept = ngettext("%(n)d keeps its data", "%(n)d keep their data", answer.unfit) % {"n": answer.unfit}
        whys.append(_("%(kept)s: it has no fields, or would be too long") % {"kept": kept})
    if answer.left:
        again = _("%(left)d are left; do it again") if verb == "release" else _("%(left)d are still to come, by itself")
        whys.append(again % {"left": answer.left})
    if not answer.changed and not whys:
        whys.append(_("the task is %(state)s") % {"state": answer.state or _("gone")})
    if whys:
        entry.outcome = Outcome.PARTLY if answer.changed else Outcome.REFUSED
        entry.detail = "; ".join(whys)
    word = "OK" if answer.changed else "REFUSED"
    entry.after[f"{choice.pool} {choice.id}"] = {"word": word, "state": answer.state, "detail": entry.detail}


def tell(request: HttpRequest, entry: AuditEntry, label: str) -> None:
    """Show the result to the user as one message."""
    if entry.outcome == Outcome.FAILED:
        messages.error(request, _("%(label)s failed: %(detail)s") % {"label": label, "detail": entry.detail})
        return
    text = ngettext("%(label)s: %(n)d chunk.", "%(label)s: %(n)d chunks.", entry.changed) % {
        "label": label,
        "n": entry.changed,
    }
    if entry.detail:
        text = f"{text} {_('Of the others: %(why)s.') % {'why': entry.detail}}"
    messages.add_message(request, messages.SUCCESS if entry.outcome == Outcome.DONE else messages.WARNING, text)
