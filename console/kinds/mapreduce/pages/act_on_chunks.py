"""Chunk action views: perform a verb on chunks, edit the data of one chunk, or restart the whole task from a stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from console.actions.catalog import Action
from console.actions.confirmation import unanswered
from console.actions.perform import answer, do, perform, tell
from console.actions.selection import Choice
from console.http import redirects
from console.kinds.mapreduce.chunk_actions import ACTIONS, STARTS
from console.kinds.mapreduce.chunk_links import chunk_url
from console.kinds.mapreduce.chunk_selection import ChunkChoice
from console.kinds.mapreduce.forms import ChunkForm
from console.models import AuditEntry, Outcome
from console.pages.task import find
from console.ui.forms import ActionForm
from console.ui.render import page
from queueops import control, inspect
from queueops.control import ChunkAnswer
from queueops.inspect import ChunkDetail, TaskDetail
from queueops.inspect.redaction import KEPT, masked_data
from queueops.kinds.mapreduce.inspect import overview
from queueops.model.redact import cut


def act(request: HttpRequest, id: str, verb: str) -> HttpResponse:
    """Perform the verb on the selected chunks; ask first if there are many."""
    action, (pool, counts) = ACTIONS[verb], counts_of(id, request.POST.get("pool", "") or request.GET.get("pool", ""))
    if not action.form(request.POST).is_valid():
        raise SuspiciousOperation(_("Enter a duration or a time."))
    return answer(request, action, ChunkChoice.of_form(request, (pool, id), counts))


def restart(request: HttpRequest, id: str) -> HttpResponse:
    """Restart the task from one of its stages; ask first if results are discarded."""
    task, start = find(request, id), STARTS.get(request.POST.get("stage", ""))
    if start is None:
        raise SuspiciousOperation(_("There is no such stage."))
    counts = counts_of(task.id, task.pool)[1]
    if start.name != "reduce":
        count = counts["failed"] + counts["errored"] if start.name == "failed" else sum(counts.values())
        whole = ("failed",) if start.name == "failed" else ()
        chunks = ChunkChoice(((task.pool, task.id),), whole=whole, count=count, resent=(("stage", start.name),))
        if question := unanswered(request, start.action, chunks, ActionForm(request.POST)):
            return question
    perform(request, start.action, Choice.of(task), {})
    return redirects.back(request, "tasks")


def edit(request: HttpRequest, id: str, number: int) -> HttpResponse:
    """The page that edits the data as JSON."""
    task, chunk = _find(request, id, number)
    return _edit_page(request, task, chunk, ChunkForm(initial={"data": chunk.data_json}))


def save(request: HttpRequest, id: str, number: int) -> HttpResponse:
    """Save the new data and, if asked, retry the chunk. After a refusal the page shows the form again."""
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


def _saved(request: HttpRequest, task: TaskDetail, chunk: ChunkDetail, value: Any, *, again: bool) -> AuditEntry:
    def call(id: str, numbers: Sequence[int], **how: str) -> ChunkAnswer:
        return control.edit_chunk(id, numbers[0], value, retry=again, **how)

    action = Action("redo_chunks" if again else "edit_chunks", call)
    before = {"data": cut(chunk.data_json, KEPT)}
    choice = ChunkChoice(((task.pool, task.id),), numbers=(chunk.number,), count=1, before_edit=before)
    return do(request, action, choice, {}, after={"data": masked_data(value)})


def _find(request: HttpRequest, id: str, number: int) -> tuple[TaskDetail, ChunkDetail]:
    task = find(request, id)
    chunk = inspect.chunk(task.id, number, task.pool)
    if chunk is None:
        raise Http404
    return task, chunk


def counts_of(id: str, pool: str) -> tuple[str, dict[str, int]]:
    """The pool of the task, and the number of its chunks in each state; else 404."""
    found = overview.counts_of(id, pool)
    if found is None:
        raise Http404
    return found


def _edit_page(
    request: HttpRequest, task: TaskDetail, chunk: ChunkDetail, form: ChunkForm, status: int = 200
) -> HttpResponse:
    return page(request, "mapreduce/edit.html", {"task": task, "chunk": chunk, "form": form}, status=status)
