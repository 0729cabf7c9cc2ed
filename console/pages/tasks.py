"""Task list: filters, pages, and actions on the selected tasks."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from console.actions.catalog import ACTIONS, Action, offered
from console.actions.perform import answer
from console.actions.selection import Choice, numbered
from console.ui import filters
from console.ui import live_list as living
from console.ui.columns import COLUMNS, SORTED, Order, orders, sort_of
from console.ui.completion import permitted
from console.ui.links import url
from console.ui.notices import notice
from console.ui.pasted import pasted_id
from console.ui.render import Frame, fragment, live_update, page
from console.ui.search_progress import number_of, search_progress
from queueops import inspect
from queueops.inspect import FilterError, TaskList, TaskQuery
from queueops.inspect.filter_text import has_field
from queueops.inspect.selection import Extent, extent_of
from queueops.model.explained import explained
from queueops.model.states import State

LIMIT = 50
MOST_TYPED = 1000
"""Characters of a wrong filter that are shown again."""
READING_AGE_S = 1.0
"""So old the reading behind a live update may be: many open pages of one list cost the store one reading a second."""
SEARCH = ("tasks-search", "tasks")


def index(request: HttpRequest) -> HttpResponse:
    """One page of the list, with its facets and its filter."""
    if id := _pasted(request.GET.get("q", "")):
        return redirect(url("find", {"q": id}))
    try:
        query = TaskQuery.from_params(request.GET)
        if "" in request.GET.values():
            return redirect(filters.address(query))  # a form sends its empty fields too
        order = Order.of(request.GET.get("sort", ""))
        if not (order.is_named or "after" in request.GET) and (own := sort_of(request.user)):
            return redirect(filters.address(query, **own))  # the URL names the order, and can be sent
        found = inspect.browse(query, request.GET.get("after", ""), SORTED if order.column else LIMIT)
    except FilterError as error:
        typed = TaskQuery(**{name: request.GET.get(name, "")[:MOST_TYPED] for name in TaskQuery.__struct_fields__})
        context = {
            "error": explained(error),
            "query": typed,
            "typed": typed.text,
            "fields": permitted().items(),
            "facets": {},
        }
        return page(request, "tasks/page.html", context, status=400)
    lines = living.first(order.applied(found.page, LIMIT).rows)
    return page(request, "tasks/page.html", _context(request, query, found, lines, lines.newest_ms))


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of the rows that the browser shows, and of the counts beside them."""
    places = living.read(request.GET.get("shown", ""))
    try:
        query = TaskQuery.from_params(request.GET)
        shown = [(place.pool, place.id) for place in places if place.id]
        order = Order.of(request.GET.get("sort", ""))
        most = SORTED if order.column else LIMIT
        found = inspect.browse(query, request.GET.get("after", ""), most, shown, READING_AGE_S)
    except FilterError as error:
        return HttpResponse(explained(error), status=400, content_type="text/plain; charset=utf-8")
    since = number_of(request, "since")
    lines = living.again(order.applied(found.page, LIMIT).rows, places, found.shown, query, since)
    return fragment(request, "tasks/live.html", _context(request, query, found, lines, since or lines.newest_ms))


def search(request: HttpRequest) -> HttpResponse:
    """One step of a search for the next match. The browser asks for the next step, or goes to the match."""
    try:
        query = TaskQuery.from_params(request.GET)
        step = inspect.search(query, request.GET.get("after", ""))
    except FilterError as error:
        return HttpResponse(explained(error), status=400, content_type="text/plain; charset=utf-8")
    found, seen = (number_of(request, name) for name in ("found", "seen"))
    if step.match and not found:
        response = HttpResponse(status=204)
        response["HX-Redirect"] = url("tasks", query.params() | {"after": step.match, "seen": seen + step.seen})
        return response
    seen, place = seen + step.seen, step.match or step.next
    told = search_progress(SEARCH, query.params(), found, seen, step.total, place, has_match=bool(step.match))
    return page(request, "tasks/search.html", {"search": told})


def act(request: HttpRequest, verb: str) -> HttpResponse:
    """Perform the verb on the selected tasks; ask first if they are many, or if it cannot be undone."""
    shown = dict(parse_qsl(urlsplit(request.POST.get("next", "")).query))
    chosen = {key: shown[key] for key in filters.LABELS if key in shown and key != "contains"}
    choice = _permitted(request, Choice.parse(request.POST.getlist("task")), ACTIONS[verb])
    return answer(request, ACTIONS[verb], choice, filter=chosen)


def _permitted(request: HttpRequest, choice: Choice, action: Action) -> Choice:
    """The tasks in pools where the user may do it; a message names the pools that are left out."""
    frame = Frame(request)
    refused = sorted(pool for pool in choice.by_pool() if action.permission not in frame.may_in(pool))
    if not refused:
        return choice
    left = Choice(tuple((pool, id) for pool, id in choice.tasks if pool not in refused))
    text = _("Left out, as your account may not do it there: %(tasks)s of pool %(pools)s.")
    told = {"tasks": numbered(len(choice) - len(left), None), "pools": ", ".join(each or "?" for each in refused)}
    notice(request, messages.WARNING, text % told)
    return left


def whole_actions(query: TaskQuery, may: frozenset[str]) -> list[tuple[Action, str]]:
    """The bulk actions and their URLs; only for a filter by states, as no verb fits all states."""
    state = query.state or (State.FAILED if query.error else "")
    if not state or query.id or query.contains:
        return []
    return [(action, url(f"tasks-all-{action.verb}", query.params())) for action in offered(state, may, query.kind)]


def _context(
    request: HttpRequest, query: TaskQuery, found: TaskList, lines: living.Living, since: int
) -> dict[str, Any]:
    after = request.GET.get("after", "")
    order = Order.of(request.GET.get("sort", ""))
    place = query.params() | {"after": after} | order.params
    matching = _extent(request, query, found)
    facets = filters.build(query, found.facets)
    _know_lanes(found, facets)
    searched = (found.page.partial or request.GET.get("seen")) and not order.column
    data = lines, matching.count, matching.exact, facets, found.page.broken
    live = place | {"since": str(since), "shown": lines.places}
    return {
        "query": query,
        "typed": query.text,
        "unseen": inspect.unseen(query),
        "fields": permitted().items(),
        "chosen": filters.chosen(query),
        "facets": facets,
        "found": found.page,
        "matching": matching,
        "lines": lines,
        "actions": offered(query.state, Frame(request).may_somewhere, query.kind),
        "whole": whole_actions(query, Frame(request).may),
        "here": url("tasks", place),
        "search": _searched(request, query, found) if searched else None,
        "full": lines.new >= LIMIT,
        "first_url": filters.address(query),
        "next_url": filters.address(query, after=found.page.next) if found.page.next and not order.column else "",
        "columns": COLUMNS.items(),
        "order": order,
        "orders": {name: url("tasks", query.params() | order.next_of(name)) for name in COLUMNS},
        "choices": orders(),
        "sorted_among": len(found.page.rows) if order.column and found.page.next else 0,
        **live_update(url("tasks-rows"), *data, **live),
    }


def _pasted(text: str) -> str:
    """The id in a pasted text that is no filter."""
    id = pasted_id(text)
    return "" if has_field(text) else id


def _know_lanes(found: TaskList, facets: dict[str, filters.Facet]) -> None:
    """Read the titles of the lanes that the page shows, if a process does not know them."""
    rows = found.page.rows
    listed = [value.text for value in facets["lane"].values] if "lane" in facets else []
    shown = [(row.pool, row.lane) for row in rows]
    inspect.know_lanes([*shown, *((pool, lane) for pool in sorted({row.pool for row in rows}) for lane in listed)])


def _extent(request: HttpRequest, query: TaskQuery, found: TaskList) -> Extent:
    """The number of matching tasks; a list that was read from its begin to its end is counted by its rows."""
    whole = not request.GET.get("after") or request.GET.get("seen")
    if whole and not found.page.next and not found.page.broken:
        count = number_of(request, "found") + len(found.page.rows)
        return Extent(count, exact=True, sample=next(iter(found.page.rows), None))
    return extent_of(query, found.page, found.facets)


def _searched(request: HttpRequest, query: TaskQuery, found: TaskList) -> dict[str, Any]:
    """How far the search is that this page began, or came from."""
    seen = number_of(request, "seen") + found.page.seen
    count = number_of(request, "found") + len(found.page.rows)
    return search_progress(SEARCH, query.params(), count, seen, found.page.total, found.page.next)
