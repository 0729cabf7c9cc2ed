"""Registration of workflows in the console: the list of runs, the tab of a run, and its actions."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from console.access.permissions import Verb
from console.kinds.workflows import run_pages
from console.kinds.workflows.actions import ACTIONS, act
from console.kinds.workflows.run_pages import StartForm
from console.kinds.workflows.story import story, tell
from console.kinds.workflows.timeline import timeline
from console.ui import json_text
from console.ui.kind_pages import KindPages, Route, Tab, TabContent
from console.ui.links import task_url, url
from queueops import inspect
from queueops.inspect import FilterError, RunFacts, RunView, TaskDetail
from queueops.model.states import TERMINAL, State

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
    offered = ["cancel", "resume" if suspended else "suspend", "terminate"]
    if over:
        offered = ["retry"] if task.state == State.FAILED and not (run and run.after) else []
    args, kwargs = json_text.split(task.args_json)
    new_run = StartForm(initial={"name": task.name, "args": args, "kwargs": kwargs})
    context = {
        "inbox_story": tuple(tell(line, {}) for line in run.inbox) if run is not None else (),
        "reset_permission": Verb.OPERATE,
        "story": story(run) if run is not None else (),
        "timeline": timeline(run) if run is not None else None,
        "chain": _chain(run, task) if run is not None else (),
        "chain_url": url("workflows", {"instance": run.instance}) if run is not None else "",
        "reset_action": None if run is None or run.after else ACTIONS["reset"],
        "start_form": new_run,
        "run_actions": [ACTIONS[verb] for verb in offered],
        "signal_action": None if over else ACTIONS["signal"],
        "next_url": address(run.next) if run is not None and run.next else "",
        "first_url": address(0) if int(first) else "",
    }
    return TabContent(content=run, here=address(int(first)), live_params={"first": first}, context=context)


def _chain(run: RunView, task: TaskDetail) -> tuple[RunFacts, ...]:
    """The runs of the instance, if it has had more than this one."""
    if not (run.before or run.after):
        return ()
    return inspect.runs_of_instance(run.instance, task.pool)


PAGES = KindPages(
    records=("workflow",),
    tabs=(Tab(name=RUN, label=_("Run"), template="console/workflows/run.html", read=read),),
    routes=(
        Route(pattern="workflows/", view=run_pages.index, name="workflows", permission=Verb.VIEW),
        Route(pattern="workflows/_rows", view=run_pages.rows, name="workflows-rows", permission=Verb.VIEW),
        Route(
            pattern="workflows/_start",
            view=run_pages.start,
            name="workflow-start",
            permission=Verb.OPERATE,
            takes_arguments=True,
        ),
        *(
            Route(
                pattern=f"workflows/<name:id>/_{verb}",
                view=act,
                name=action.url_name,
                permission=Verb.OPERATE,
                given={"verb": verb},
                takes_arguments=verb == "signal",
            )
            for verb, action in ACTIONS.items()
        ),
    ),
    navigation=(("workflows", "f", "arrows-split-2", _("Workflows")),),
)
