"""Sending all callbacks again that match: at a rate, and to the same address or to another one."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _

from console.actions.bulk import Matching
from console.actions.catalog import Action
from console.actions.confirmation import unanswered
from console.actions.perform import do, tell
from console.actions.selection import MOST, Choice
from console.http import error_pages
from console.kinds.jobs.callback_actions import AddressForm
from console.models import Outcome
from console.ui.forms import ActionForm
from console.ui.links import url
from console.ui.notices import notice
from queueops import control, inspect
from queueops.inspect import FilterError, TaskRow
from queueops.inspect.selection import extent, gather
from queueops.model.explained import explained

AT_MOST = 10_000
"""Callbacks that one request sends again. What is left matches still, and can be sent by the next one."""
AGAIN = ("scheduled", "backing_off", "dead", "delivered", "discarded")
"""States of callbacks that can be sent again."""


class Callbacks(Matching, frozen=True, kw_only=True):
    """All callbacks that match, as the question shows them. One request sends them, at most so many."""

    @property
    def in_parts(self) -> bool:
        """No worker performs the action, and nothing goes on behind the page."""
        return False


class RateForm(ActionForm):
    """How many callbacks start a second; empty: all at once."""

    rate = forms.FloatField(
        label=_("Callbacks a second (empty: all at once)"), min_value=0.001, max_value=100_000, required=False
    )


class RedirectForm(AddressForm, RateForm):
    """The address to which callbacks go, and how many start a second."""


AT_A_RATE = Action(
    "retry",
    lambda ids, **how: control.redeliver_callbacks(ids, **how),
    _("Redeliver at a rate"),
    "hourglass",
    RateForm,
    asks_first=True,
    note=_("Sends the callbacks with the same body and id, one after the other. They are scheduled until their turn."),
    url="callbacks-redeliver-all",
    phrase=_("Redeliver %(what)s at a rate"),
)
REDIRECT_ALL = Action(
    "redirect_callbacks",
    lambda ids, **how: control.redirect_callbacks(ids, **how),
    _("Redirect"),
    "arrows-right",
    RedirectForm,
    asks_first=True,
    note=_("Sends the callbacks to another address, with the same body and id."),
    url="callbacks-redirect-all",
)


def redeliver_all(request: HttpRequest) -> HttpResponse:
    """Send all callbacks that match again, at a rate."""
    return _send(request, AT_A_RATE)


def redirect_all(request: HttpRequest) -> HttpResponse:
    """Send all callbacks that match to another address."""
    return _send(request, REDIRECT_ALL)


def _send(request: HttpRequest, action: Action) -> HttpResponse:
    """Ask, with the number; once confirmed, send at most so many. Each 500 have an audit entry."""
    show, to = (request.GET.get(name, "") for name in ("show", "to"))
    here = url("callbacks", {"show": show, "to": to})
    try:
        query = inspect.callback_query(show, to)
    except FilterError as error:
        return error_pages.bad_request(request, explained(error))
    asked_ms, found = inspect.now_ms(), extent(query)
    if show not in AGAIN or not found.count:
        notice(request, messages.INFO, _("No callback matches that can be sent again."))
        return redirect(here)
    verb = "run_now" if show == "scheduled" else "retry"
    choice = Callbacks(query=query, extent=found, asked_ms=asked_ms, verb=verb)
    form = action.form(request.POST if "confirmed" in request.POST else None)
    if question := unanswered(request, action, choice, form, "callbacks"):
        return question
    asked = request.POST.get("asked_ms", "")
    since = int(asked) if asked.isdecimal() and len(asked) < 16 else asked_ms
    rows, _place = gather(query, "", min(AT_MOST, choice.expected(request.POST["confirmed"])), asked_ms=since)
    _send_rows(request, action, rows, form.values)
    return redirect(here)


def _send_rows(request: HttpRequest, action: Action, rows: list[TaskRow], values: dict[str, Any]) -> None:
    by_pool: dict[str, list[TaskRow]] = defaultdict(list)
    for row in rows:
        by_pool[row.pool].append(row)
    sent = 0
    for of_pool in by_pool.values():
        for start in range(0, len(of_pool), MOST):
            part = of_pool[start : start + MOST]
            delay = sent / values["rate"] if values["rate"] else 0.0
            entry = do(request, action, Choice.of(*part), values | {"delay": delay})
            tell(request, entry, str(action.label))
            sent += len(part)
            if entry.outcome == Outcome.FAILED:
                return
