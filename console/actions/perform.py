"""Execution of actions: asks for a confirmation, writes the audit entry, calls the engine, tells the user."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.actions import undo
from console.actions.catalog import ACTIONS, Action, afterwards, is_reasoned, label, stays
from console.actions.confirmation import unanswered
from console.actions.selection import Choice, numbered
from console.audit.log import recorded, told, tolerated
from console.http import redirects
from console.models import AuditEntry, Outcome
from console.ui.entry_links import target_name
from console.ui.formatting import count
from console.ui.kind_pages import RecordWords, verb_of_kind, words_of_record
from console.ui.links import url
from console.ui.notices import notice
from console.ui.state_badges import label as state_label

MOST_KINDS = 4
"""How many different answers a message lists, the most frequent first."""


def answer(
    request: HttpRequest,
    action: Action,
    choice: Choice,
    otherwise: str = "tasks",
    *,
    onward: str = "",
    **facts: Any,
) -> HttpResponse:
    """Ask, or perform the action and tell the user: the whole way of one click.

    Then the user returns to the page of the form (to `otherwise`, if the form does not name it), or goes to the page
    named `onward`.
    """
    if not len(choice):
        return redirects.back(request, otherwise)
    form = action.form(request.POST)
    if question := unanswered(request, action, choice, form, otherwise):
        return question
    perform(request, action, choice, form.values, **facts)
    return redirect(url(onward)) if onward else redirects.back(request, otherwise)


def perform(request: HttpRequest, action: Action, choice: Choice, values: dict[str, Any], **facts: Any) -> AuditEntry:
    """Perform the action and tell the user; an engine error is shown too, an outage is raised."""
    entry = do(request, action, choice, values, **facts)
    words = _words(entry) if action.label == getattr(ACTIONS.get(action.verb), "label", None) else None
    tell(request, entry, str((action if words is None else words.actions.get(action.verb, action)).label))
    return entry


def do(request: HttpRequest, action: Action, choice: Choice, values: dict[str, Any], **facts: Any) -> AuditEntry:
    """Perform the action without telling the user."""
    with tolerated(), recorded(request, action.verb, choice.target(), **(choice.facts() | facts)) as entry:
        if is_reasoned(action) and entry.reason:
            values = values | {"reason": entry.reason}
        choice.act(action, entry, values)
    return entry


def tell(request: HttpRequest, entry: AuditEntry, name: str = "") -> None:
    """Show the result to the user as one message, with an undo where possible; `name` is the label of the action."""
    name = name or label(entry.verb)
    if entry.outcome == Outcome.FAILED:
        values = {"label": name, "detail": told(entry.detail)}
        notice(request, messages.ERROR, _("%(label)s failed: %(detail)s") % values)
        return
    level = messages.SUCCESS if entry.outcome == Outcome.DONE else messages.WARNING
    own = verb_of_kind(entry.verb)
    counted = own.counted if own is not None else None
    text = _of_tasks(entry, name) if counted is None else _of_others(entry, name, counted(entry.changed))
    notice(request, level, text, undo=entry.pk if undo.is_open(entry) else None)


def _of_tasks(entry: AuditEntry, name: str) -> str:
    """The result for tasks: how many were changed, and to what; for another thing its name."""
    if not entry.ids and not entry.is_mass:
        text = _named(name, entry)
        if entry.detail and entry.outcome in (Outcome.REFUSED, Outcome.PARTLY):
            return f"{text.removesuffix('.')}: {told(entry.detail)}."
        pools = ", ".join(entry.after.get("paused_in", ()))  # of a name
        return _joined(text, afterwards(entry.verb) % {"pools": pools})
    text = _("%(label)s: %(number)s.") % {"label": name, "number": numbered(entry.changed, _words(entry))}
    if missed := (entry.seen if entry.is_mass else entry.count) - entry.changed:
        why = ngettext("%(n)s was not changed: %(why)s.", "%(n)s were not changed. The first reason: %(why)s.", missed)
        text = f"{text} {why % {'n': count(missed), 'why': told(entry.detail)}}"
    if entry.is_mass or not entry.changed:
        return text
    return _joined(text, _became(entry), afterwards(entry.verb))


def _named(name: str, entry: AuditEntry) -> str:
    own = verb_of_kind(entry.verb)
    if own is not None and own.phrase and "%(what)s" not in str(own.phrase):  # it names the only thing that there is
        return f"{name}."
    return _("%(label)s: %(target)s.") % {"label": name, "target": target_name(entry) or entry.target}


def _words(entry: AuditEntry) -> RecordWords | None:
    """The own words of the record of the entry's tasks; None if it has none, or if it is not known."""
    if record := entry.filter.get("kind", ""):
        return words_of_record(record)
    before = (entry.undoes or entry).before
    records = {before.get(f"{pool} {id}", {}).get("kind", "") for pool, id in entry.ids}
    return words_of_record(records.pop()) if len(records) == 1 else None


def _of_others(entry: AuditEntry, name: str, number: str) -> str:
    text = _("%(label)s: %(number)s.") % {"label": name, "number": number}
    return _joined(text, _("Others: %(why)s.") % {"why": told(entry.detail)} if entry.detail else "")


def _joined(*texts: object) -> str:
    return " ".join(filter(None, map(str, texts)))


def _became(entry: AuditEntry) -> str:
    """The new states of the tasks, or the engine's answers; where these differ, with counts."""
    answers = [entry.after.get(f"{pool} {id}", {}) for pool, id in entry.ids]
    done = [answer for answer in answers if answer.get("word") == "OK"]
    kinds = Counter(after["detail"] or _state_now(entry.verb, after["state"]) for after in done)
    told = [f"{count}: {text}" if len(kinds) > 1 else text for text, count in kinds.most_common(MOST_KINDS) if text]
    text = "; ".join(told)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _state_now(verb: str, state: str) -> str:
    return _("now %(state)s") % {"state": state_label(state)} if state and not stays(verb) else ""
