"""Bulk edit of chunk data: write the change, preview it on the first chunks, then apply it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from console.actions.catalog import Action, sentence
from console.actions.confirmation import is_confirmed, need
from console.actions.perform import perform
from console.http import redirects
from console.kinds.mapreduce.chunk_links import chunks_url
from console.kinds.mapreduce.chunk_selection import ChunkChoice
from console.kinds.mapreduce.forms import ChunksForm
from console.kinds.mapreduce.pages.act_on_chunks import counts_of
from console.pages.task import find
from console.ui.render import page
from queueops import control, inspect
from queueops.inspect import TaskDetail
from queueops.inspect.redaction import masked_data

SHOWN = 3


def edit(request: HttpRequest, id: str) -> HttpResponse:
    """The form, with the first of the selected chunks."""
    task, choice = _chosen(request, id)
    return _form(request, task, choice, ChunksForm(initial={"change": ChunksForm.FIELDS}))


def save(request: HttpRequest, id: str) -> HttpResponse:
    """Preview the change on the first chunks; once confirmed, change and retry all selected chunks."""
    task, choice = _chosen(request, id)
    if not choice.count:
        return redirects.back(request, "tasks")
    if "value" not in request.POST:  # selected in a list
        return _form(request, task, choice, ChunksForm(initial={"change": ChunksForm.FIELDS}))
    form = ChunksForm(request.POST)
    if not form.is_valid() or "again" in request.POST:
        return _form(request, task, choice, form, status=200 if form.is_valid() else 422)
    needed, sent = need(choice.count, irreversible=False, far_reaching=True), request.POST.dict()
    if not is_confirmed(needed, choice.expected(sent.get("confirmed", "")), sent):
        shown = {"needed": needed, "wrong": "confirmed" in sent, "reason": sent.get("reason", "")}
        return _form(request, task, choice, form, status=422 if "confirmed" in sent else 200, **shown)
    changed = form.changed
    after = {name: masked_data(value) for name, value in changed.items()}
    perform(request, _action(changed), choice, {}, after=after)
    return redirects.back(request, "tasks")


def _action(changed: dict[str, Any]) -> Action:
    """The action that sets `fields` in the data of chunks, or replaces it by `data`, and retries them."""
    label = _("Edit and retry")
    if "fields" in changed:
        return Action("set_chunks", lambda id, **how: control.set_fields(id, changed["fields"], **how), label)
    return Action("redo_chunks", lambda id, **how: control.edit_chunks(id, changed["data"], **how), label)


def _chosen(request: HttpRequest, id: str) -> tuple[TaskDetail, ChunkChoice]:
    task = find(request, id)
    place = (task.pool, task.id)
    return task, ChunkChoice.of_form(request, place, counts_of(task.id, task.pool)[1])


def _form(
    request: HttpRequest, task: TaskDetail, choice: ChunkChoice, form: ChunksForm, status: int = 200, **shown: Any
) -> HttpResponse:
    """The page with the form; with `shown` it is a preview and holds what must be confirmed."""
    context = {
        "task": task,
        "choice": choice,
        "button": sentence(_action({}), choice.number()),
        "form": form,
        "rows": _rows(task, choice, form.changed if shown else {"fields": {}}),
        "next": redirects.address(request, "tasks") if "next" in request.POST else chunks_url(task.id, task.pool),
        **shown,
    }
    return page(request, "mapreduce/edits.html", context, status=status)


def _rows(task: TaskDetail, choice: ChunkChoice, changed: dict[str, Any]) -> tuple[inspect.EditedChunk, ...]:
    """The first of the chunks, with their data after the change."""
    return inspect.preview_edit(
        task.id, choice.whole, task.pool, numbers=choice.numbers[:SHOWN], count=SHOWN, **changed
    )
