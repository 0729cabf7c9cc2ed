"""Outbox pages: commands between pools that are due, in delivery or dead, and the actions on them."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode

from console.actions.confirmation_page import unanswered
from console.actions.perform import tell
from console.audit.log import recorded, tolerated
from console.http import redirects
from console.models import AuditEntry, Outcome
from console.pages.outbox.message_actions import ACTIONS, MessageAction
from console.pages.outbox.message_selection import CommandChoice
from console.ui.forms import ActionForm
from console.ui.render import fragment, page, version_of
from queueops import inspect
from queueops.errors import FilterError
from queueops.inspect import CommandPage

PLACES = ("due", "locked", "dead")


def index(request: HttpRequest) -> HttpResponse:
    """One page of the commands that are due, in delivery or dead."""
    return page(request, "commands/page.html", _context(request))


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of the list."""
    return fragment(request, "commands/rows.html", _context(request))


def act(request: HttpRequest, verb: str) -> HttpResponse:
    """Try the selected commands again, or drop them; a drop asks first."""
    return _answer(request, ACTIONS[verb], CommandChoice.parse(request.POST.getlist("task")))


def act_on_dead(request: HttpRequest, verb: str) -> HttpResponse:
    """Try all dead commands of every pool again, or drop them; asks first if they are many."""
    count = inspect.commands("dead", limit=1).dead
    return _answer(request, ACTIONS[verb], CommandChoice(tasks=(), dead=count))


def _answer(request: HttpRequest, action: MessageAction, choice: CommandChoice) -> HttpResponse:
    if not len(choice):
        return redirects.back(request, "commands")
    if question := unanswered(request, action, choice, ActionForm(request.POST), "commands"):
        return question
    entry = _dead(request, action) if choice.dead else _chosen(request, action, choice)
    tell(request, entry, str(action.label))
    return redirects.back(request, "commands")


def _chosen(request: HttpRequest, action: MessageAction, choice: CommandChoice) -> AuditEntry:
    before = {"commands": choice.values}
    with tolerated(), recorded(request, f"{action.verb}_commands", choice.title(), before=before) as entry:
        for pool, ids in choice.by_pool().items():
            rows = action.call(ids, pool)
            entry.changed += sum(row.word == "OK" for row in rows)
            entry.after |= {f"{pool} {row.id}": {"word": row.word, "was": row.state} for row in rows}
        if entry.changed < len(choice):
            entry.outcome = Outcome.PARTLY if entry.changed else Outcome.REFUSED
            entry.detail = "others were gone, were not commands, or were just being applied"
    return entry


def _dead(request: HttpRequest, action: MessageAction) -> AuditEntry:
    with tolerated(), recorded(request, f"{action.verb}_commands", "dead") as entry:
        for pool in sorted({pool for pool, dead in inspect.dead_commands().items() if dead}):
            entry.after[pool] = action.call_all(pool)
        entry.changed = sum(entry.after.values())
    return entry


def _context(request: HttpRequest) -> dict[str, Any]:
    place = request.GET.get("place", "due")
    place = place if place in PLACES else "due"
    after, wrong = request.GET.get("after", ""), ""
    try:
        found = inspect.commands(place, after=after)
    except FilterError as error:
        found, wrong = CommandPage(rows=()), str(error)
    version = version_of(place, after, found)
    query = urlencode({"place": place, "after": after, "v": version})
    return {
        "place": place,
        "found": found,
        "wrong": wrong,
        "counts": [(each, getattr(found, each)) for each in PLACES],
        "here": f"{reverse('console:commands')}?{urlencode({'place': place})}",
        "after": after,
        "version": version,
        "live_url": f"{reverse('console:commands-rows')}?{query}",
    }
