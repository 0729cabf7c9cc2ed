"""Task list: filters, pages, and actions on the selected tasks."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from console.actions.catalog import ACTIONS, Action, offered
from console.actions.perform import answer
from console.actions.selection import Choice
from console.ui import filters
from console.ui import live_list as living
from console.ui.links import url
from console.ui.render import Frame, fragment, live_update, page
from queueops import inspect
from queueops.inspect import FilterError, TaskList, TaskQuery
from queueops.inspect.selection import extent_of
from queueops.model.states import State

LIMIT = 50
MOMENT = re.compile(r"\d{1,15}")


def index(request: HttpRequest) -> HttpResponse:
    """One page of the list, with its facets and its filter."""
    try:
        query = TaskQuery.from_params(request.GET)
        if "" in request.GET.values():
            return redirect(filters.address(query))  # a form sends its empty fields too
        found = inspect.browse(query, request.GET.get("after", ""), LIMIT)
    except FilterError as error:
        return page(request, "tasks/page.html", {"error": str(error), "query": TaskQuery(), "facets": {}}, status=400)
    lines = living.first(found.page.rows)
    return page(request, "tasks/page.html", _context(request, query, found, lines, lines.newest_ms))


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of the rows that the browser shows, and of the counts beside them."""
    places = living.read(request.GET.get("shown", ""))
    try:
        query = TaskQuery.from_params(request.GET)
        shown = [(place.pool, place.id) for place in places if place.id]
        found = inspect.browse(query, request.GET.get("after", ""), LIMIT, shown)
    except FilterError as error:
        return HttpResponse(str(error), status=400, content_type="text/plain; charset=utf-8")
    since = int(moment.group()) if (moment := MOMENT.fullmatch(request.GET.get("since", ""))) else 0
    lines = living.again(found.page.rows, places, found.shown, query, since)
    return fragment(request, "tasks/live.html", _context(request, query, found, lines, since or lines.newest_ms))


def act(request: HttpRequest, verb: str) -> HttpResponse:
    """Perform the verb on the selected tasks; ask first if they are many, or if it cannot be undone."""
    shown = dict(parse_qsl(urlsplit(request.POST.get("next", "")).query))
    chosen = {key: shown[key] for key in filters.LABELS if key in shown}
    return answer(request, ACTIONS[verb], Choice.parse(request.POST.getlist("task")), filter=chosen)


def _context(
    request: HttpRequest, query: TaskQuery, found: TaskList, lines: living.Living, since: int
) -> dict[str, Any]:
    after = request.GET.get("after", "")
    place = query.params() | {"after": after}
    matching = extent_of(query, found.page, found.facets)
    facets = filters.build(query, found.facets)
    data = lines, matching.count, matching.exact, facets, found.page.broken
    live = place | {"since": str(since), "shown": lines.places}
    return {
        "query": query,
        "facets": facets,
        "found": found.page,
        "matching": matching,
        "lines": lines,
        "actions": offered(query.state, Frame(request).may),
        "whole": _whole(query, Frame(request).may),
        "here": url("tasks", place),
        "full": lines.new >= LIMIT,
        "first_url": filters.address(query),
        "next_url": filters.address(query, after=found.page.next) if found.page.next else "",
        **live_update(reverse("console:tasks-rows"), *data, **live),
    }


def _whole(query: TaskQuery, may: frozenset[str]) -> list[tuple[Action, str]]:
    """The bulk actions and their URLs; only for a filter by state, as no verb fits all states."""
    state = query.state or (State.FAILED if query.error else "")
    if not state or query.id:
        return []
    return [(action, url(f"tasks-all-{action.verb}", query.params())) for action in offered(state, may)]
