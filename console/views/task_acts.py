"""What is done to one task: a verb, or an edit of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from console import arguments, returning
from console.act import perform
from console.addresses import task_url
from console.asking import unanswered
from console.choice import Choice
from console.deeds import DEEDS, Deed
from console.forms import EditForm
from console.page import Frame, page
from console.permissions import Verb
from console.views.task import find
from queueops import control


def act(request: HttpRequest, id: str, verb: str) -> HttpResponse:
    """Do the verb; a state that does not allow it is the engine's to refuse."""
    choice, deed = Choice(((request.POST.get("pool", ""), id),)), DEEDS[verb]
    form = deed.form(request.POST)
    if question := unanswered(request, deed, choice, form):
        return question
    perform(request, deed, choice, form.values)
    if deed.permission is Verb.DESTROY:
        return redirect("console:tasks")  # the task's own page is gone
    return returning.back(request, "tasks")


def edit(request: HttpRequest, id: str) -> HttpResponse:
    """The arguments as JSON, to be changed."""
    task = find(request, id)
    args, kwargs = arguments.split(task.args_json)
    return page(request, "task/edit.html", {"task": task, "form": EditForm(initial={"args": args, "kwargs": kwargs})})


def save(request: HttpRequest, id: str) -> HttpResponse:
    """Take the new arguments; a task that has ended, or is backing off, runs again with them."""
    if not Frame(request).sees_arguments:
        raise PermissionDenied
    task, form = find(request, id), EditForm(request.POST)
    if not form.is_valid():
        return page(request, "task/edit.html", {"task": task, "form": form}, status=422)
    deed = Deed("edit", "Edit", "pencil", _edit_and_retry)
    perform(request, deed, Choice(((task.pool, id),)), form.cleaned_data, before={"args": task.args_json})
    return redirect(task_url(task.id, task.pool))


def _edit_and_retry(
    ids: Sequence[str], pool: str, who: str, args: list[Any], kwargs: dict[str, Any]
) -> list[control.Row]:
    return [control.edit_and_retry(ids[0], args, kwargs, pool=pool, who=who)]
