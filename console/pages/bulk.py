"""Bulk action views: ask for confirmation, then act in steps on all tasks that match a filter."""

from __future__ import annotations

from time import monotonic

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _

from console.access.permissions import TABLE
from console.access.pools import granted_in, pools_of_entry
from console.actions import bulk, operations
from console.actions.bulk import Matching
from console.actions.catalog import ACTIONS
from console.actions.confirmation import unanswered
from console.actions.perform import perform, tell
from console.actions.selection import MOST, Choice
from console.actions.undo import permission
from console.http import error_pages
from console.models import AuditEntry
from console.pages import undo
from console.ui import filters
from console.ui.kind_pages import words_of_record
from console.ui.links import url
from console.ui.notices import notice
from queueops import inspect
from queueops.inspect import FilterError, TaskQuery
from queueops.inspect.selection import extent, gather
from queueops.inspect.store import one_pool_list
from queueops.model.explained import explained


def act(request: HttpRequest, verb: str) -> HttpResponse:
    """Ask, with the count of tasks; once confirmed, act on at most that number, at once or in steps."""
    try:
        query = TaskQuery.from_params(request.GET).whole()
    except FilterError as error:
        return error_pages.bad_request(request, explained(error))
    if TABLE[f"tasks-all-{verb}"] not in granted_in(request.user, [query.pool]):
        raise PermissionDenied
    with one_pool_list():  # of the question; the action reads it again
        asked_ms = inspect.now_ms()  # before the count: tasks that come in later are left alone
        words = words_of_record(query.kind)
        action = words.actions.get(verb, ACTIONS[verb]) if words is not None else ACTIONS[verb]
        action, found = action._replace(asks_first=True), extent(query)
        if found.sample is not None:  # the newest task: the store's clock may have been set back
            asked_ms = max(asked_ms, found.sample.entered_ms)
        if not found.count or not query.params():
            text = _("No task matches the filter.") if words is None else _("Nothing matches the filter.")
            notice(request, messages.INFO, text)
            return redirect(filters.address(query))
        choice = Matching(query=query, extent=found, asked_ms=asked_ms, verb=verb)
        form = action.form(request.POST if "confirmed" in request.POST else None)
        if question := unanswered(request, action, choice, form):
            return question
    count, asked_ms = choice.expected(request.POST["confirmed"]), _asked_ms(request, asked_ms)
    if count > MOST and choice.by_workers:
        return redirect(
            url("audit-entry", pk=operations.start(request, action, query, count, asked_ms, form.values).pk)
        )
    if count > MOST:
        entry = bulk.start(request, action, query, count, asked_ms, form.values)
        return _go_on(request, entry)
    rows, _place = gather(query, "", count, asked_ms=asked_ms, until=monotonic() + bulk.SECONDS)
    entry = perform(request, action, Choice.of(*rows), form.values, filter=query.params())
    is_trial = choice.trial and count == choice.trial
    return redirect(url("audit-entry", pk=entry.pk) if is_trial else filters.address(query))


def go_on(request: HttpRequest, pk: int) -> HttpResponse:
    """Perform the next step of an unfinished action; it needs the permission of that action."""
    entry = get_object_or_404(AuditEntry, pk=pk)
    if permission(entry) not in granted_in(request.user, pools_of_entry(entry)):
        raise PermissionDenied
    if entry.place == operations.ENGINE:  # workers go on with it
        return redirect(undo.progress_url(request, entry))
    return undo.go_on(request, entry) if entry.undoes_id and entry.goes_on else _go_on(request, entry)


def _go_on(request: HttpRequest, entry: AuditEntry) -> HttpResponse:
    if entry.goes_on and bulk.go_on(request, entry):
        tell(request, entry)
    return redirect(undo.progress_url(request, entry))


def _asked_ms(request: HttpRequest, now_ms: int) -> int:
    """The time at which the confirmed question was shown; now, if the form does not hold it."""
    sent = request.POST.get("asked_ms", "")
    return int(sent) if sent.isdecimal() and len(sent) < 16 else now_ms
