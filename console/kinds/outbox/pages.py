"""Page of the outbox: rows that wait, or that were given up, in each database."""

from __future__ import annotations

from typing import Any

from django.db import Error
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from console.actions.perform import answer
from console.kinds.outbox.actions import ACTIONS, RowChoice
from console.ui.links import url
from console.ui.render import fragment, live_update, page
from queueops import inspect
from queueops.errors import FilterError
from queueops.inspect import OutboxPage
from queueops.model.explained import explained
from queueops.model.redact import cut

NOTHING = OutboxPage(databases=(), database="", dead=False, rows=())


def index(request: HttpRequest) -> HttpResponse:
    """One page of the rows."""
    return page(request, "outbox/page.html", _context(request))


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of the list."""
    return fragment(request, "outbox/rows.html", _context(request))


def act(request: HttpRequest, verb: str) -> HttpResponse:
    """Let rows wait again, or delete them; a deletion asks first."""
    return answer(request, ACTIONS[verb], RowChoice.parse(request.POST.getlist("task")), "outbox")


def _context(request: HttpRequest) -> dict[str, Any]:
    given, found, wrong = request.GET, NOTHING, ""
    after, database = given.get("after", ""), given.get("database", "")
    number = int(after) if after.isascii() and after.isdigit() and len(after) < 19 else 0
    try:
        if inspect.outbox_in_use():
            found = inspect.outbox(dead=given.get("dead") == "1", database=database, after=number)
    except FilterError as error:
        wrong = explained(error)
    except Error as error:
        wrong = _("A database cannot be read: %(error)s") % {"error": cut(str(error).strip(), 200)}
    query = {"dead": "1" if found.dead else "", "database": database}
    return {
        "found": found,
        "wrong": wrong,
        "in_use": inspect.outbox_in_use(),
        "here": url("outbox", query),
        "after": after,
        **live_update(url("outbox-rows"), found, **query, after=after),
    }
