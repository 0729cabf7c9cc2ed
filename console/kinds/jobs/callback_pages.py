"""Callback queue: the callbacks by state and destination, with the last answer of each, and the actions on them."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from console.actions.catalog import ACTIONS, Action
from console.kinds.jobs.callback_badges import LABELS
from console.kinds.jobs.resend_callbacks import AGAIN, AT_A_RATE, REDIRECT_ALL
from console.ui.links import url
from console.ui.render import Frame, fragment, live_update, page
from queueops import inspect
from queueops.inspect import CALLBACK_STATES, CallbackPage, FilterError, TaskQuery
from queueops.model.explained import explained

REDELIVER = ACTIONS["retry"]._replace(
    label=_("Redeliver"),
    note=_("Sends the callback now, with the same body and the same id. The job does not run again."),
    phrase=_("Redeliver %(what)s"),
)
CANCEL = ACTIONS["cancel"]._replace(
    label=_("Discard"),
    note=_("Ends the callback without delivery. It is kept as cancelled."),
    phrase=_("Discard %(what)s"),
)
DELETE = ACTIONS["delete"]._replace(label=_("Discard"), phrase=_("Discard %(what)s"))
OWN = (REDELIVER, CANCEL, DELETE)
"""Actions of all tasks that have another name for callbacks."""
OFFERED: dict[str, tuple[Action, ...]] = {
    "scheduled": (ACTIONS["run_now"], ACTIONS["postpone"], CANCEL),
    "pending": (ACTIONS["postpone"], CANCEL),
    "in_flight": (CANCEL,),
    "backing_off": (REDELIVER, ACTIONS["postpone"], CANCEL),
    "dead": (REDELIVER, DELETE),
    "delivered": (REDELIVER,),
    "discarded": (REDELIVER, DELETE),
}
"""What is offered for selected callbacks, and for all in a state. They are the actions of all tasks."""


def index(request: HttpRequest) -> HttpResponse:
    """One page of the callbacks."""
    context = _context(request)
    return page(request, "jobs/callbacks.html", context, status=400 if context["fault"] else 200)


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of the page."""
    return fragment(request, "jobs/callback_rows.html", _context(request))


def _context(request: HttpRequest) -> dict[str, Any]:
    show, to, after = (request.GET.get(name, "").strip() for name in ("show", "to", "after"))
    fault, counts, destination = "", {}, None
    try:
        found = inspect.callbacks(show, to, after=after)
        counts = _counts(to)
        destination = inspect.destination(to) if to else None
    except FilterError as error:
        found, fault = CallbackPage(rows=()), explained(error)
    return {
        "found": found,
        "fault": fault,
        "show": show,
        "to": to,
        "states": [
            (word, label, counts.get(CALLBACK_STATES[word]), CALLBACK_STATES[word], _address(word, to))
            for word, label in LABELS.items()
        ],
        "all_url": _address("", to),
        "everywhere_url": _address(show, ""),
        "actions": _offered(request, show),
        "destination": destination,
        "whole": _whole(request, show, to),
        "here": _address(show, to, after),
        "first_url": _address(show, to) if after else "",
        "next_url": _address(show, to, found.next) if found.next else "",
        **live_update(
            url("callbacks-rows"),
            show,
            to,
            after,
            found,
            counts,
            destination,
            show=show,
            to=to,
            after=after,
        ),
    }


def _address(show: str, to: str, after: str = "") -> str:
    return url("callbacks", {"show": show, "to": to, "after": after})


def _counts(to: str) -> dict[str, int | None]:
    """The callbacks in each state, to one host or to all. The lane of a host has no other tasks than its callbacks."""
    query = TaskQuery(lane=inspect.callback_query(destination=to).lane) if to else TaskQuery(kind="callback")
    return dict(inspect.facets(query).get("state", ()))


def _offered(request: HttpRequest, show: str) -> list[Action]:
    """The actions on ticked callbacks; without a state those that fit most of them."""
    may = Frame(request).may
    return [action for action in OFFERED.get(show, (REDELIVER, CANCEL)) if action.permission in may]


def _whole(request: HttpRequest, show: str, to: str) -> list[tuple[Action, str]]:
    """The actions on all callbacks in a state, and their URLs: each asks first, with the number."""
    if show not in OFFERED:
        return []
    query = inspect.callback_query(show, to).params()
    found = [(action, url(f"tasks-all-{action.verb}", query)) for action in _offered(request, show)]
    frame = Frame(request)
    if show not in AGAIN or AT_A_RATE.permission not in frame.may:
        return found
    again = (AT_A_RATE, REDIRECT_ALL) if frame.sees_arguments else (AT_A_RATE,)
    return found + [(action, url(action.url, {"show": show, "to": to})) for action in again]
