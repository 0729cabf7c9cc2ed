"""Push pages: a form of a task's signature, and the push itself; a copy of a task fills the form."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from console.access.permissions import Verb
from console.actions.catalog import Action
from console.actions.perform import do, tell
from console.actions.selection import Thing
from console.models import AuditedTask, AuditEntry, Outcome
from console.ui.links import task_url, url
from console.ui.push_form import PushForm, copied
from console.ui.render import Frame, page
from queueops import control, inspect
from queueops.errors import QueueOpsError
from queueops.inspect import TaskDetail
from queueops.inspect.redaction import masked_call
from queueops.model.ids import new_id

PUSH = Action("push", lambda name, *call, **options: control.push_task(name, *call, **options), url="name-push")


class _Call(Thing, frozen=True, kw_only=True):
    """A call of a task, which becomes a task."""

    def act(self, action: Action, entry: AuditEntry, values: dict[str, Any]) -> None:
        """Push it; the entry then names the new task, and the task's page shows the entry."""
        row = action.call(self.tasks[0][1], *values["call"], id=values["id"], **values["options"])
        entry.ids, entry.count, entry.changed = [[row.detail, row.id]], 1, 1
        entry.after = self.becomes | {f"{row.detail} {row.id}": {"word": row.word, "state": row.state, "detail": ""}}
        AuditedTask.objects.create(entry=entry, pool=row.detail, task_id=row.id)


def offers(name: str, frame: Frame) -> bool:
    """Whether the user may push tasks of this name from here: the console's process has to have its code."""
    pool = inspect.push_pool(name)
    return bool(pool) and {Verb.PUSH, Verb.SEE_ARGUMENTS} <= frame.may_in(pool)


def show(request: HttpRequest, id: str) -> HttpResponse:
    """The form; with `task` and `pool` it has the arguments of that task."""
    task = inspect.task(request.GET["task"], request.GET.get("pool", "")) if request.GET.get("task") else None
    parameters = _parameters(id)
    return _form(request, id, PushForm(parameters, initial=copied(parameters, task) if task else {}), task)


def act(request: HttpRequest, id: str) -> HttpResponse:
    """Push the task; after a refusal the page shows the form again, with the reason at its field."""
    form = PushForm(_parameters(id), request.POST)
    if not form.is_valid():
        return _form(request, id, form, status=422)
    args, kwargs = form.call
    call = _Call.named("", id, {}, {"args": masked_call(args, kwargs, id), **form.options})
    entry = do(request, PUSH, call, {"call": form.call, "id": form.cleaned_data["id"], "options": form.options})
    if entry.outcome == Outcome.FAILED:
        form.refuse(entry.detail.replace(id, "", 1))
        return _form(request, id, form, status=422)
    tell(request, entry)
    ((pool, pushed),) = entry.ids
    return redirect(task_url(pushed, pool))


def _parameters(id: str) -> tuple[inspect.PushParameter, ...]:
    try:
        return inspect.push_parameters(id)
    except QueueOpsError:  # its code is not in this process, or is wrong
        raise Http404 from None


def _form(
    request: HttpRequest, id: str, form: PushForm, task: TaskDetail | None = None, *, status: int = 200
) -> HttpResponse:
    context = {
        "name": id,
        "form": form,
        "copied": task,
        "new_id": request.POST.get("id", "") or new_id(),
        "may_push": offers(id, Frame(request)),
        "back": url("registry-task", id=id),
        "reason": request.POST.get("reason", ""),
    }
    return page(request, "registry/push.html", context, status=status)
