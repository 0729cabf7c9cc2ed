"""Page of pool messages: those that are due, taken or given up, and the actions on them.

Other kinds may show what they could not push with those that were given up.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from console.actions.perform import answer
from console.kinds.pool_messages.command_actions import ACTIONS, ACTIONS_ON_DEAD, CommandChoice, DeadCommands
from console.ui.kind_pages import pieces_at
from console.ui.links import url
from console.ui.render import fragment, live_update, page
from queueops import inspect
from queueops.errors import FilterError
from queueops.inspect import CommandPage
from queueops.model.explained import explained

PLACES = ("due", "locked", "dead")


def index(request: HttpRequest) -> HttpResponse:
    """One page of the messages that are due, taken or given up."""
    return page(request, "pool_messages/page.html", _context(request))


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of the list."""
    return fragment(request, "pool_messages/rows.html", _context(request))


def act(request: HttpRequest, verb: str) -> HttpResponse:
    """Try the selected messages again, or drop them; a drop asks first."""
    return answer(request, ACTIONS[verb], CommandChoice.parse(request.POST.getlist("task")), "commands")


def act_on_dead(request: HttpRequest, verb: str) -> HttpResponse:
    """Try all messages that were given up again, or drop them; asks first if they are many."""
    dead = DeadCommands(count=inspect.commands("dead", limit=1).dead)
    return answer(request, ACTIONS_ON_DEAD[verb], dead, "commands")


def _context(request: HttpRequest) -> dict[str, Any]:
    after, wrong = request.GET.get("after", ""), ""
    try:
        found = inspect.commands(request.GET.get("place", "due"), after=after)
    except FilterError as error:
        found, wrong = CommandPage(rows=()), explained(error)
    place = found.place
    pieces = pieces_at("commands.dead") if place == "dead" else []
    return {
        "place": place,
        "found": found,
        "pieces": pieces,
        "wrong": wrong,
        "counts": [(each, getattr(found, each)) for each in PLACES],
        "here": url("commands", {"place": place}),
        "after": after,
        **live_update(
            url("commands-rows"),
            place,
            after,
            found,
            [piece.context for piece in pieces],
            place=place,
            after=after,
        ),
    }
