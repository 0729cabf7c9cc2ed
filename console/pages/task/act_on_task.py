"""Task action views: perform a verb on one task, or edit its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from console.access.permissions import Verb
from console.actions.catalog import ACTIONS, Action
from console.actions.confirmation import Need, is_confirmed
from console.actions.perform import answer, do, tell
from console.actions.selection import Choice
from console.models import AuditEntry, Outcome
from console.pages.task import find
from console.ui import json_text
from console.ui.forms import EditForm
from console.ui.kind_pages import lost_by_edit
from console.ui.links import task_url
from console.ui.render import page
from queueops import control
from queueops.inspect import TaskDetail
from queueops.inspect.redaction import KEPT, masked_arguments
from queueops.model.redact import cut


def act(request: HttpRequest, id: str, verb: str) -> HttpResponse:
    """Perform the verb; the engine refuses it if the state does not allow it."""
    choice, action = Choice(((request.POST.get("pool", ""), id),)), ACTIONS[verb]
    # after a delete the page of the task does not exist any more
    return answer(request, action, choice, onward="tasks" if action.permission is Verb.DESTROY else "")


def edit(request: HttpRequest, id: str) -> HttpResponse:
    """The page that edits the arguments as JSON."""
    task = find(request, id)
    args, kwargs = json_text.split(task.own_args_json)
    return _edit_page(request, task, EditForm(initial={"args": args, "kwargs": kwargs}), seen=task.version)


def save(request: HttpRequest, id: str) -> HttpResponse:
    """Save the new arguments; a task that has ended, or is in back-off, runs again with them.

    After a refusal the page shows the form again, with the reason. If an operator has acted on the task since the form
    was shown, the page also shows its present arguments, and a second save replaces them.
    """
    task, form = find(request, id), EditForm(request.POST)
    lost, sent = lost_by_edit(task), request.POST.dict()
    confirmed = lost is None or is_confirmed(Need.TYPE, lost.count, sent)
    if form.is_valid() and confirmed:
        entry = _saved(request, task, form)
        if entry.outcome == Outcome.DONE:
            tell(request, entry)
            return redirect(task_url(task.id, task.pool))
        form.refuse(entry.detail, by_state=entry.outcome == Outcome.REFUSED)
        if entry.outcome == Outcome.REFUSED and _seen(request) not in ("", task.version):
            return _edit_page(request, task, form, seen=task.version, has_changed=True, status=422)
    return _edit_page(request, task, form, seen=_seen(request), wrong=not confirmed, status=422)


def _seen(request: HttpRequest) -> str:
    """The version of the task whose arguments the form showed; empty: any."""
    return request.POST.get("version", "")[:200]


def _saved(request: HttpRequest, task: TaskDetail, form: EditForm) -> AuditEntry:
    action = Action("edit", _edit_and_retry)
    values = form.cleaned_data | {"seen": _seen(request)}
    before = {"args": cut(task.own_args_json, KEPT)}
    first = int(task.first_is_result)
    after = {"args": masked_arguments(values["args"], values["kwargs"], task.kind, task.name, first=first)}
    return do(request, action, Choice.of(task), values, before=before, after=after)


def _edit_page(
    request: HttpRequest, task: TaskDetail, form: EditForm, *, seen: str, status: int = 200, **more: bool
) -> HttpResponse:
    context = {"task": task, "form": form, "lost": lost_by_edit(task), "version": seen, **more}
    return page(request, "task/edit.html", context | {"reason": request.POST.get("reason", "")}, status=status)


def _edit_and_retry(
    ids: Sequence[str], *, pool: str, who: str, args: list[Any], kwargs: dict[str, Any], seen: str, **_: str
) -> list[control.Row]:
    return [control.edit_and_retry(ids[0], args, kwargs, pool=pool, who=who, seen=seen)]
