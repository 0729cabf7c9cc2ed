"""Task page: a header with the task's state and actions, and tabs that are pages of their own."""

from __future__ import annotations

from collections.abc import Sequence
from time import time
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from console.access.permissions import Verb
from console.actions.catalog import allowed
from console.diagram.machine import draw_task
from console.diagram.strip import Part, strip
from console.http import error_pages
from console.models import AuditEntry
from console.pages import push
from console.ui.kind_pages import tabs_of_kind, tabs_with_content, words_of_record
from console.ui.links import tab_url, task_url
from console.ui.render import Frame, fragment, live_update, page
from queueops import inspect
from queueops.inspect import FilterError, TaskDetail

TABS: dict[str, str | Promise] = {
    "summary": _("Summary"),
    "attempts": _("Attempts"),
    "timeline": _("Timeline"),
    "log": _("Log"),
    "why": _("Why?"),
    "raw": _("Raw"),
    "audit": _("Audit"),
}
ENTRIES = 100
MOST_IN_LINE = 4
"""Stays of a task that a line shows; a diagram shows more of them."""


def show(request: HttpRequest, id: str, tab: str) -> HttpResponse:
    """The task, with one of its tabs."""
    try:
        return page(request, "task/page.html", _context(request, id, tab))
    except FilterError:
        raise Http404 from None  # an invalid position in the list of parts


def live(request: HttpRequest, id: str) -> HttpResponse:
    """The live update of the page."""
    tab = request.GET.get("tab", "")
    if tab not in TABS and tab not in tabs_with_content():
        raise Http404
    if tab == "raw" and not Frame(request).sees_arguments:
        return error_pages.forbidden(request, Verb.SEE_ARGUMENTS)
    try:
        return fragment(request, "task/layout.html", _context(request, id, tab))
    except FilterError:
        raise Http404 from None


def find(request: HttpRequest, id: str) -> TaskDetail:
    """The task of this id, in the pool that the URL names, or in any; else 404."""
    pool = request.GET.get("pool", "") or request.POST.get("pool", "")
    task = inspect.task(id, pool)
    if task is None:
        raise Http404
    return task


def tabs_of(task: TaskDetail, frame: Frame) -> list[tuple[str, str | Promise]]:
    """The tabs of this task for this user, those of its kind after the summary."""
    tabs = [(name, label) for name, label in TABS.items() if _is_shown(name, task, frame)]
    return [tabs[0], *((tab.name, tab.label) for tab in tabs_of_kind(task.kind)), *tabs[1:]]


def _is_shown(tab: str, task: TaskDetail, frame: Frame) -> bool:
    if tab == "attempts":
        return task.is_claimed
    return tab != "raw" or frame.sees_arguments


def _context(request: HttpRequest, id: str, tab: str) -> dict[str, Any]:
    task, frame = find(request, id), Frame(request)
    of_kind = tabs_with_content().get(tab)
    own = of_kind.read(request, task) if of_kind is not None and of_kind.read is not None else None
    content: Any = own.content if own is not None else _content(task, tab)
    may = frame.may_in(task.pool)
    actions, words = allowed(task, may), words_of_record(task.kind)
    inspect.know_lanes([(task.pool, task.lane)])
    stays = strip(task, int(time() * 1000))
    data = task, content if tab != "audit" else [entry.pk for entry in content]
    params = {"pool": task.pool, "tab": tab} | (dict(own.live_params) if own is not None else {})
    return {
        "task": task,
        "badge": words.badge(task) if words and words.badge else "",
        "tab": tab,
        "tab_template": of_kind.template if of_kind is not None else f"console/task/tab_{tab}.html",
        "here": own.here if own is not None else tab_url(task.id, task.pool, tab),
        "content": content,
        **(own.context if own is not None else {}),
        **live_update(task_url(task.id, "", "task-live"), *data, **params),
        "actions": [(action, action.form()) for action in actions],
        "told": actions,
        "may_edit": "edit" in task.allowed and {Verb.OPERATE, Verb.SEE_ARGUMENTS} <= may,
        "may": may,
        "may_export": Verb.EXPORT in may,
        "may_push": push.offers(task.name, frame),
        "machine": draw_task(task) if _returns(stays) else (),
        "strip": stays,
        "tabs": tabs_of(task, frame),
    }


def _returns(stays: Sequence[Part]) -> bool:
    """Whether a task was in a state twice, or in many: then a diagram tells more than a line."""
    states = [stay.state for stay in stays]
    return len(states) > MOST_IN_LINE or len(states) > len(set(states))


def _content(task: TaskDetail, tab: str) -> Any:
    """The content of one tab, besides the task itself."""
    if tab == "why":
        return inspect.why(task.id, task.pool)
    if tab == "raw":
        return inspect.raw(task.id, task.pool)
    if tab == "audit":
        return list(AuditEntry.objects.filter(tasks__task_id=task.id, tasks__pool=task.pool)[:ENTRIES])
    return None
