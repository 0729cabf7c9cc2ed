"""Registration of workflows in the console: the tab of a run, and its actions."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from console.access.permissions import Verb
from console.kinds.workflows.actions import ACTIONS, act
from console.ui.kind_pages import KindPages, Route, Tab, TabContent
from console.ui.links import task_url
from queueops import inspect
from queueops.inspect import FilterError, TaskDetail
from queueops.model.states import TERMINAL

RUN = "run"
DIGITS = 6


def read(request: HttpRequest, task: TaskDetail) -> TabContent:
    """The run, with a page of its history. Raises FilterError for a position that is never offered."""
    first = request.GET.get("first", "0")
    if not (first.isascii() and first.isdigit() and len(first) <= DIGITS):
        raise FilterError(reason=f"{first!r} is not a position")
    run = inspect.workflow_run(task.id, task.pool, first=int(first))

    def address(position: int) -> str:
        return task_url(task.id, task.pool, f"task-{RUN}", **({"first": position} if position else {}))

    over = task.state in TERMINAL
    suspended = run is not None and run.suspended_ms is not None
    offered = [] if over else ["cancel", "resume" if suspended else "suspend"]
    context = {
        "run_actions": [ACTIONS[verb] for verb in offered],
        "signal_action": None if over else ACTIONS["signal"],
        "next_url": address(run.next) if run is not None and run.next else "",
        "first_url": address(0) if int(first) else "",
    }
    return TabContent(content=run, here=address(int(first)), live_params={"first": first}, context=context)


PAGES = KindPages(
    records=("workflow",),
    tabs=(Tab(name=RUN, label=_("Run"), template="console/workflows/run.html", read=read),),
    routes=tuple(
        Route(
            pattern=f"workflows/<name:id>/_{verb}",
            view=act,
            name=f"task-{action.verb}",
            permission=Verb.OPERATE,
            given={"verb": verb},
            takes_arguments=verb == "signal",
        )
        for verb, action in ACTIONS.items()
    ),
)
