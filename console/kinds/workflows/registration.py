"""Registration of workflows in the console: the list of runs, the tab of a run, and its actions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, pgettext_lazy

from console.access.permissions import Verb
from console.actions.catalog import actions_on
from console.kinds.workflows import run_pages, run_words
from console.kinds.workflows.actions import ACTIONS, act
from console.kinds.workflows.run_pages import StartForm
from console.kinds.workflows.run_picture import picture
from console.kinds.workflows.story import story, tell
from console.kinds.workflows.timeline import timeline
from console.kinds.workflows.verbs import VERBS
from console.ui import json_text
from console.ui.exported import Exported
from console.ui.kind_pages import Finder, Hit, KindPages, Piece, RecordWords, Route, Tab, TabContent
from console.ui.links import task_url, url
from queueops import inspect
from queueops.inspect import FilterError, RunChildren, RunFacts, RunView, TaskDetail
from queueops.model.states import TERMINAL, State

RUN = "run"
SHORTEST, MOST_FOUND, NEWEST = 3, 20, 100
"""Characters by which the find box looks for instances, the most runs that it finds, and among how many of a pool."""
PLACES = {"first": r"\d{1,6}", "inbox": r"\d{1,6}", "children": r"\d{1,6}", "calls": r"\d{1,20}\.\d{1,6}"}
"""Where the pages of the history, the inbox, the children and the open commands begin."""


def read(request: HttpRequest, task: TaskDetail) -> TabContent:
    """The run, with a page of each of its lists. Raises FilterError for a position that is never offered."""
    places = {name: place for name in PLACES if (place := _place(request, name))}
    first, inbox, children = (int(places.get(name, 0)) for name in ("first", "inbox", "children"))
    run = inspect.workflow_run(task.id, task.pool, first=first, calls=places.get("calls", ""), inbox=inbox)
    context: dict[str, Any] = {}
    if run is not None:
        found = inspect.run_children(task.id, task.pool, first=children)
        context = {
            "inbox_story": tuple(tell(line, {}) for line in run.inbox),
            "story": story(run),
            "picture": picture(run, task.pool),
            "timeline": timeline(run),
            "children": found,
            "parent": inspect.run_facts(run.parent, run.parent_pool) if run.parent else None,
            "chain": _chain(run, task),
            "chain_url": url("workflows", {"instance": run.instance}),
            "reset_action": None if run.after else ACTIONS["reset"],
            **_pages(task, places, run, found),
        }
    here = task_url(task.id, task.pool, f"task-{RUN}", **places)
    return TabContent(content=run, here=here, live_params=places, context=context | _actions(task, run))


def _place(request: HttpRequest, name: str) -> str:
    place = request.GET.get(name, "")
    if place and not re.fullmatch(PLACES[name], place, re.ASCII):
        raise FilterError(reason=f"{place!r} is not a position")
    return "" if place == "0" else place


IN_HEAD = {"cancel": "cancel", "terminate": "interrupt"}
"""Actions on runs, and the standard actions in whose place they stand: a standard cancel does not ask the code."""


def _pages(task: TaskDetail, places: Mapping[str, str], run: RunView, children: RunChildren) -> dict[str, str]:
    """The URLs of the first and the next page of each list; empty where there is none."""
    following = {"first": run.next, "inbox": run.next_inbox, "children": children.next, "calls": run.next_calls}

    def address(name: str, place: object) -> str:
        others = {each: where for each, where in places.items() if each != name}
        return task_url(task.id, task.pool, f"task-{RUN}", **others, **({name: place} if place else {}))

    urls = {f"{name}_next_url": address(name, place) if place else "" for name, place in following.items()}
    return urls | {f"{name}_first_url": address(name, "") if name in places else "" for name in PLACES}


def _actions(task: TaskDetail, run: RunView | None) -> dict[str, Any]:
    over = task.state in TERMINAL
    suspended = run is not None and run.suspended_ms is not None
    in_head = actions_on(task)
    offered = ["resume" if suspended else "suspend"]
    offered += [verb for verb, standard in IN_HEAD.items() if standard not in in_head]
    if over:
        offered = ["retry"] if task.state == State.FAILED and not (run and run.after) else []
    args, kwargs = json_text.split(task.args_json)
    return {
        "reset_permission": Verb.OPERATE,
        "start_form": StartForm(initial={"name": task.name, "args": args, "kwargs": kwargs}),
        "run_actions": [ACTIONS[verb] for verb in offered],
        "signal_action": None if over else ACTIONS["signal"],
    }


def _chain(run: RunView, task: TaskDetail) -> tuple[RunFacts, ...]:
    """The runs of the instance, if it has had more than this one."""
    if not (run.before or run.after):
        return ()
    return inspect.runs_of_instance(run.instance, task.pool)


def hits(text: str) -> Iterator[Hit]:
    """The runs of instances whose id begins so, among the newest of each pool.

    An instance without an id of its own has that of its first run, which is found as a task.
    """
    if len(text) >= SHORTEST and "*" not in text:
        with suppress(FilterError):
            found = inspect.workflow_runs(instance=f"{text}*", limit=MOST_FOUND, budget=NEWEST).rows
            for row in (each for each in found if each.instance != each.id):
                yield Hit(row.instance, task_url(row.id, row.pool, f"task-{RUN}"), row.name, row.state)


def marks(task: TaskDetail) -> Piece | None:
    """The words beside the state of a run that is blocked or suspended, or that continued as new."""
    if task.kind not in PAGES.records:
        return None
    run = inspect.run_facts(task.id, task.pool)
    return Piece(template="console/workflows/state_marks.html", context={"run": run}) if run is not None else None


def fact_ran(task: TaskDetail) -> Piece | None:
    """From when to when a run ran: each step is a start."""
    return Piece(template="console/workflows/fact_ran.html", context={}) if task.kind in PAGES.records else None


def _runs(number: int, shown: str) -> str:
    return ngettext("%(n)s run", "%(n)s runs", number) % {"n": shown}


PAGES = KindPages(
    worker_words={
        "workflow code": pgettext_lazy("fact of a worker", "workflow code"),
        "kept runs": pgettext_lazy("fact of a worker", "kept runs"),
        "hits": pgettext_lazy("fact of a worker", "hits"),
        "replays": pgettext_lazy("fact of a worker", "replays"),
        "blocked": pgettext_lazy("line of a log", "blocked"),
    },
    records=("workflow",),
    pieces={"task.state": marks, "task.facts.ran": fact_ran},
    actions={standard: ACTIONS[verb] for verb, standard in IN_HEAD.items()},
    tabs=(Tab(name=RUN, label=_("Run"), template="console/workflows/run.html", read=read),),
    routes=(
        Route(pattern="workflows/", view=run_pages.index, name="workflows", permission=Verb.VIEW),
        Route(pattern="workflows/_rows", view=run_pages.rows, name="workflows-rows", permission=Verb.VIEW),
        Route(pattern="workflows/_search", view=run_pages.search, name="workflows-search", permission=Verb.VIEW),
        Route(
            pattern="workflows/_start",
            view=run_pages.start,
            name="workflow-start",
            permission=Verb.OPERATE,
            verb="start_run",
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
    verbs=VERBS,
    words={"workflow": RecordWords(number=_runs)},
    exports={
        "workflows": Exported(
            (
                *("id", "pool", "instance", "name", "state", "status", "reason", "error", "tags", "waits_for"),
                *("length", "waiting_events", "blocked_times", "parent", "before", "after"),
                *("created_ms", "entered_ms", "due_ms", "suspended_ms", "continued_ms", "blocked_ms"),
            ),
            run_pages.pages,
        )
    },
    finder=Finder(id=_("the id of a workflow instance"), title=_("Runs"), hits=hits),
    navigation=(("workflows", "f", "arrows-split-2", _("Workflows")),),
    sections={"workflow": "workflows"},
    tags=run_words.register,
)
