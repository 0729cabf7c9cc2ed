"""Execution of actions on tasks: reads the states before, writes the audit entry, calls the engine, tells the user."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.actions import undo
from console.actions.catalog import AFTERWARDS, REASONED, STAYING, Action
from console.actions.selection import Choice
from console.audit.log import judge, recorded, tolerated
from console.models import AuditEntry, Outcome
from queueops import inspect

MOST_BEFORE = 100
"""More than a page shows, so that all tasks selected there can be undone."""
MOST_KINDS = 4
"""How many different answers a message lists, the most frequent first."""


def perform(request: HttpRequest, action: Action, choice: Choice, values: dict[str, Any], **facts: Any) -> AuditEntry:
    """Perform the action on the selected tasks and tell the user; an engine error is shown too, an outage is raised."""
    entry = do(request, action, choice, values, **facts)
    tell(request, entry, str(action.label))
    return entry


def do(
    request: HttpRequest,
    action: Action,
    choice: Choice,
    values: dict[str, Any],
    known: dict[str, Any] | None = None,
    **facts: Any,
) -> AuditEntry:
    """Perform the action without telling the user; `known` replaces what `before` would read."""
    with tolerated(), recorded(request, action.verb, choice.title(), tasks=choice.tasks, **facts) as entry:
        entry.before |= before(choice) if known is None else known
        if action.verb in REASONED and entry.reason:
            values = values | {"reason": entry.reason}
        for pool, ids in choice.by_pool().items():
            judge(entry, pool, action.call(ids, pool=pool, who=entry.actor_name, token=entry.token, **values))
    return entry


def before(choice: Choice) -> dict[str, Any]:
    """The facts of each task that an undo needs; read only for a few tasks, because each needs a call."""
    if len(choice) > MOST_BEFORE:
        return {}
    found = ((pool, id, inspect.task(id, pool)) for pool, id in choice.tasks)
    return {
        f"{pool} {id}": {
            "state": task.state,
            "due_ms": task.due_ms,
            "lane": task.lane,
            "priority": task.priority,
            **({"parent": task.parent} if task.parent else {}),
        }
        for pool, id, task in found
        if task is not None
    }


def tell(request: HttpRequest, entry: AuditEntry, label: str) -> None:
    """Show the result to the user as one message, with an undo where possible."""
    if entry.outcome == Outcome.FAILED:
        messages.error(request, _("%(label)s failed: %(detail)s") % {"label": label, "detail": entry.detail})
        return
    text = _("%(label)s: %(target)s.") % {"label": label, "target": entry.target}
    if entry.ids:
        text = ngettext("%(label)s: %(n)d task.", "%(label)s: %(n)d tasks.", entry.changed) % {
            "label": label,
            "n": entry.changed,
        }
    if missed := entry.count - entry.changed if entry.ids else 0:
        why = ngettext("%(n)d was left as it is: %(why)s.", "%(n)d were left as they are: %(why)s.", missed)
        text = f"{text} {why % {'n': missed, 'why': entry.detail}}"
    if not entry.ids and entry.outcome == Outcome.REFUSED:
        text = f"{text.removesuffix('.')}: {entry.detail}."
    elif entry.changed or not entry.ids:
        text = " ".join(filter(None, (text, _became(entry), str(AFTERWARDS.get(entry.verb, "")))))
    level = messages.SUCCESS if entry.outcome == Outcome.DONE else messages.WARNING
    messages.add_message(request, level, text, extra_tags=f"undo-{entry.pk}" if undo.steps(entry) else "")


def _became(entry: AuditEntry) -> str:
    """The new states of the tasks, or the engine's answers; where these differ, with counts."""
    answers = [entry.after.get(f"{pool} {id}", {}) for pool, id in entry.ids]
    done = [answer for answer in answers if answer.get("word") == "OK"]
    kinds = Counter(after["detail"] or _state_now(entry.verb, after["state"]) for after in done)
    told = [f"{count} {text}" if len(kinds) > 1 else text for text, count in kinds.most_common(MOST_KINDS) if text]
    text = "; ".join(told)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _state_now(verb: str, state: str) -> str:
    return _("now %(state)s") % {"state": state} if state and verb not in STAYING else ""
