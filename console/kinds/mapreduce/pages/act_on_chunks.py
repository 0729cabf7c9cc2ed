"""Chunk action views: perform a verb on chunks, edit the data of one chunk, or restart the whole task from a stage."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from console.actions.catalog import Action
from console.actions.confirm_thresholds import is_confirmed, need
from console.actions.perform import perform as act_on_task
from console.actions.selection import Choice
from console.http import redirects
from console.kinds.mapreduce import calls
from console.kinds.mapreduce.chunk_actions import ACTIONS, STARTS, ChunkAction, Start
from console.kinds.mapreduce.chunk_selection import ChunkChoice
from console.kinds.mapreduce.perform_on_chunks import do, perform, tell
from console.models import AuditEntry, Outcome
from console.pages.task import find
from console.ui.forms import ChunkForm, PostponeForm
from console.ui.links import chunk_url
from console.ui.render import Frame, page
from queueops import inspect
from queueops.inspect import ChunkDetail, TaskDetail
from queueops.inspect.redaction import KEPT, masked_data
from queueops.model.redact import cut


def act(request: HttpRequest, id: str, verb: str) -> HttpResponse:
    """Perform the verb on the selected chunks; ask first if there are many."""
    task, action = find(request, id), ACTIONS[verb]
    choice = ChunkChoice.parse(request, task.pool, task.id, counts_of(task))
    if not choice.count:
        return redirects.back(request, "tasks")
    values = _values(request, verb)
    if question := _unanswered(request, action, choice):
        return question
    after = {name: str(value) for name, value in values.items()}
    perform(request, verb, str(action.label), choice, lambda who: calls.mend(verb, choice, who, **values), after=after)
    return redirects.back(request, "tasks")


def restart(request: HttpRequest, id: str) -> HttpResponse:
    """Restart the task from one of its stages; ask first if results are discarded."""
    task, start = find(request, id), STARTS.get(request.POST.get("stage", ""))
    if start is None:
        raise SuspiciousOperation(_("There is no such stage."))
    counts = counts_of(task)
    count = counts["failed"] + counts["errored"] if start.stage == "failed" else sum(counts.values())
    choice = ChunkChoice(pool=task.pool, id=task.id, whole=("failed",) if start.stage == "failed" else (), count=count)
    if start.stage != "reduce" and (question := _unanswered(request, start, choice)):
        return question
    action = Action(f"restart_{start.stage}", start.title, "rotate-clockwise", calls.restart)
    act_on_task(request, action, Choice(((task.pool, task.id),)), {"stage": start.stage})
    return redirects.back(request, "tasks")


def edit(request: HttpRequest, id: str, number: int) -> HttpResponse:
    """The page that edits the data as JSON."""
    task, chunk = _find(request, id, number)
    return _edit_page(request, task, chunk, ChunkForm(initial={"data": chunk.data_json}))


def save(request: HttpRequest, id: str, number: int) -> HttpResponse:
    """Save the new data and, if asked, retry the chunk. After a refusal the page shows the form again."""
    if not Frame(request).sees_arguments:
        raise PermissionDenied
    (task, chunk), form = _find(request, id, number), ChunkForm(request.POST)
    if not form.is_valid():
        return _edit_page(request, task, chunk, form, status=422)
    again = "retry" in request.POST and "retry" in chunk.allowed
    entry = _saved(request, task, chunk, form.cleaned_data["data"], again=again)
    if entry.outcome == Outcome.DONE:
        tell(request, entry, str(_("Edit and retry") if again else _("Edit")))
        return redirect(chunk_url(task.id, task.pool, number))
    form.add_error(None if entry.outcome == Outcome.REFUSED else "data", entry.detail)
    return _edit_page(request, task, chunk, form, status=422)


def _values(request: HttpRequest, verb: str) -> dict[str, Any]:
    """The verb's values besides the chunks: the delay of a postpone."""
    if verb != "postpone":
        return {}
    form = PostponeForm(request.POST)
    if not form.is_valid():
        raise SuspiciousOperation(_("Say for how long, or until when."))
    return form.values


def _saved(request: HttpRequest, task: TaskDetail, chunk: ChunkDetail, value: Any, *, again: bool) -> AuditEntry:
    choice = ChunkChoice(pool=task.pool, id=task.id, numbers=(chunk.number,), count=1)
    return do(
        request,
        "redo" if again else "edit",
        choice,
        lambda who: calls.edit(choice, value, who, again=again),
        before={"data": cut(chunk.data_json, KEPT)},
        after={"data": masked_data(value)},
    )


def _find(request: HttpRequest, id: str, number: int) -> tuple[TaskDetail, ChunkDetail]:
    task = find(request, id)
    chunk = inspect.chunk(task.id, number, task.pool)
    if chunk is None:
        raise Http404
    return task, chunk


def counts_of(task: TaskDetail) -> dict[str, int]:
    """The number of chunks in each state."""
    view = inspect.chunks_of(task.id, task.pool, first=0, count=1)
    if view is None:
        raise Http404
    return view.counts


def _edit_page(
    request: HttpRequest, task: TaskDetail, chunk: ChunkDetail, form: ChunkForm, status: int = 200
) -> HttpResponse:
    return page(request, "mapreduce/edit.html", {"task": task, "chunk": chunk, "form": form}, status=status)


def _unanswered(request: HttpRequest, action: ChunkAction | Start, choice: ChunkChoice) -> HttpResponse | None:
    """The page that asks, or None when the action is confirmed. A state may hold fewer chunks than were confirmed."""
    needed = need(choice.count, irreversible=action.irreversible)
    sent = request.POST.dict()
    if is_confirmed(needed, confirmed(choice, sent.get("confirmed", "")), sent):
        return None
    context = {
        "action": action,
        "choice": choice,
        "needed": needed,
        "stage": request.POST.get("stage", ""),
        "delay": request.POST.get("delay", ""),
        "next": redirects.address(request, "tasks"),
        "wrong": "confirmed" in sent,
        "reason": sent.get("reason", ""),
        "address": request.path,
    }
    return page(request, "mapreduce/confirm.html", context, status=422 if "confirmed" in sent else 200)


def confirmed(choice: ChunkChoice, sent: str) -> int:
    """The number that a confirmation must name; a state may hold fewer chunks now than when the page was shown."""
    fewer = choice.whole and sent.isdecimal() and len(sent) < 11 and choice.count <= int(sent)
    return int(sent) if fewer else choice.count
