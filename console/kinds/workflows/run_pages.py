"""Pages of runs: the list of all runs, and the form that starts a new one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _

from console.actions.catalog import Action
from console.actions.perform import do, tell
from console.actions.selection import Thing
from console.models import Outcome
from console.ui.forms import ActionForm, JsonField
from console.ui.links import task_url, url
from console.ui.render import fragment, live_update, page
from console.ui.search_progress import number_of, search_progress
from queueops import control, inspect
from queueops.inspect import FilterError, RunFacts, RunPage, TaskQuery
from queueops.inspect.export import OF_A_PAGE, pages_of
from queueops.inspect.redaction import masked_arguments
from queueops.model.explained import explained
from queueops.model.states import State

RUN = "workflow"
BLOCKED, SUSPENDED, CONTINUED = ("blocked", "suspended", "continued")
STATES = (
    State.PENDING, State.LOCKED, State.IDLE, State.POSTPONED, BLOCKED, SUSPENDED,
    State.SUCCEEDED, CONTINUED, State.FAILED, State.CANCELLED,
)  # fmt: skip
"""The states of runs. A blocked or suspended run is also in one of the others: mostly it is postponed or idle."""
SEARCH = ("workflows-search", "workflows")
"""So old the offered tags may be."""
PARTS = ("state", "name", "search", "instance", "tag", "status", "older", "younger")
AGES = ("15min", "1h", "12h", "1d", "7d", "30d")
"""Ages that the filter offers; others can be typed."""


def index(request: HttpRequest) -> HttpResponse:
    """One page of the runs."""
    context = _context(request)
    return page(request, "workflows/list.html", context, status=400 if context["fault"] else 200)


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of the page."""
    return fragment(request, "workflows/list_rows.html", _context(request))


def search(request: HttpRequest) -> HttpResponse:
    """One step of a search for the next run. The browser asks for the next step, or goes to the page with the run."""
    asked, after, seen = _asked(request), request.GET.get("after", ""), number_of(request, "seen")
    try:
        filters: dict[str, Any] = dict(asked)
        step = inspect.workflow_runs(**filters, after=after)
    except FilterError as error:
        return HttpResponse(explained(error), status=400, content_type="text/plain; charset=utf-8")
    found = number_of(request, "found")
    if step.rows and after and not found:
        response = HttpResponse(status=204)
        response["HX-Redirect"] = _address(asked, after, seen)
        return response
    place, passed = (after, seen) if step.rows else (step.next, seen + step.seen)
    told = search_progress(SEARCH, asked, found, passed, step.total, place, has_match=bool(step.rows))
    return page(request, "tasks/search.html", {"search": told})


class StartForm(ActionForm):
    """A new run: its workflow, its instance and its arguments."""

    name = forms.CharField(label=_("Workflow"), max_length=200)
    instance = forms.CharField(label=_("Instance"), max_length=200, required=False)
    args = JsonField(_("Positional arguments"), list, _('Write a JSON list, such as [42, "a"].'))
    kwargs = JsonField(_("Named arguments"), dict, _('Write a JSON object, such as {"key": 1}.'))


def start(request: HttpRequest) -> HttpResponse:
    """Start a run. After an error the page shows the form again, with the reason."""
    form = StartForm(request.POST)
    if form.is_valid():
        values = dict(form.cleaned_data)
        becomes = {
            "instance": values["instance"],
            "args": masked_arguments(values["args"], values["kwargs"], RUN, values["name"]),
        }
        started: list[control.Row] = []

        def begin(_pool: str, _target: str, *, who: str, **given: Any) -> None:
            started.append(_started(given))

        action = Action("start_run", begin, _("Start a run"))
        thing = Thing.named("", values["instance"] or values["name"], {"name": values["name"]}, becomes)
        entry = do(request, action, thing, values)
        if entry.outcome == Outcome.DONE and started:
            tell(request, entry)
            return redirect(task_url(started[0].id, "", "task-run"))
        form.add_error(None, entry.detail)
    return page(request, "workflows/start.html", {"form": form}, status=422)


def _started(given: dict[str, Any]) -> control.Row:
    return control.start_run(given["name"], given["args"], given["kwargs"], instance=given["instance"])


def _context(request: HttpRequest) -> dict[str, Any]:
    asked = _asked(request)
    after, fault = request.GET.get("after", ""), ""
    facets: dict[str, list[tuple[str, int | None]]] = {}
    counts: dict[str, int | None] = {}
    try:
        filters: dict[str, Any] = dict(asked)
        found = inspect.workflow_runs(**filters, after=after)
        facets = inspect.facets(TaskQuery(kind=RUN))
        counts = _counts(dict(facets.get("state", ())))
    except FilterError as error:
        found, fault = RunPage(rows=()), explained(error)
    return {
        "found": found,
        "fault": fault,
        **asked,
        "asked": asked,
        "is_filtered": any(asked.values()),
        "unseen": inspect.unseen(TaskQuery(), asked["status"]),
        "chips": [(f"{part}: {asked[part]}", _address(asked | {part: ""})) for part in PARTS[1:] if asked[part]],
        "ages": AGES,
        "states": [(word, counts.get(word), _address(asked | {"state": word})) for word in STATES],
        "names": sorted({*inspect.workflow_names(), *(row.name for row in found.rows)}),
        "tags": sorted({tag for row in found.rows for tag in row.tags}),
        "all_url": _address(asked | {"state": ""}),
        "here": _address(asked, after),
        "first_url": _address(asked) if after else "",
        "next_url": _address(asked, found.next) if found.next else "",
        "progress": _searched(request, asked, found),
        "chosen": asked["state"],
        **live_update(url("workflows-rows"), asked, after, found, counts, **asked, after=after),
    }


def _counts(by_state: dict[str, int | None]) -> dict[str, int | None]:
    """The number of runs in each state. A run that continued as new has not succeeded."""
    counts: dict[str, int | None] = {**by_state, **inspect.run_counts()}
    ended, continued = counts.get(State.SUCCEEDED), counts[CONTINUED]
    if ended is not None:
        counts[State.SUCCEEDED] = max(0, ended - (continued or 0))
    return counts


def _searched(request: HttpRequest, asked: dict[str, str], found: RunPage) -> dict[str, Any] | None:
    """How far the search is that this page began; None if the page is full, or has no run behind it."""
    if not (found.partial and found.seen and found.next):
        return None
    return search_progress(
        SEARCH, asked, len(found.rows), number_of(request, "seen") + found.seen, found.total, found.next
    )


def _asked(request: HttpRequest) -> dict[str, str]:
    return _parts(request.GET)


def _parts(params: Mapping[str, Any]) -> dict[str, str]:
    """The filter. A search that ends with a star is one by the beginning of an instance."""
    asked = {part: params.get(part, "").strip() for part in PARTS}
    if asked["search"].endswith("*"):
        asked["instance"], asked["search"] = asked["search"], ""
    return asked


def pages(params: Mapping[str, Any]) -> Iterator[Sequence[RunFacts]]:
    """All runs that match the filter of the page, page by page. Raises FilterError."""
    asked: dict[str, Any] = _parts(params)
    return pages_of(lambda after: inspect.workflow_runs(**asked, after=after, limit=OF_A_PAGE))


def _address(asked: dict[str, str], after: str = "", seen: int = 0) -> str:
    return url("workflows", {**asked, "after": after, "seen": seen})
