"""Maintenance switch: clients of the API are told to send no jobs, until it is switched off."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from console.actions.catalog import Action
from console.actions.perform import answer
from console.actions.selection import Thing
from queueops import control

ACTIONS: dict[str, Action] = {
    "start": Action(
        "start_maintenance",
        lambda pool, name, **how: control.start_maintenance(**how),
        _("Start maintenance"),
        "player-pause",
        asks_first=True,
        note=_("Asks clients to send no jobs: the health check of the API answers 503. Jobs that are there go on."),
        url="maintenance-start",
    ),
    "stop": Action(
        "stop_maintenance",
        lambda pool, name, who: control.stop_maintenance(),
        _("End the maintenance"),
        "player-play",
        url="maintenance-stop",
    ),
}


class _Maintenance(Thing, frozen=True, kw_only=True):
    """The maintenance: its actions name it."""

    def title(self) -> str:
        """Nothing beside the label of the action."""
        return ""


def act(request: HttpRequest, verb: str) -> HttpResponse:
    """Switch the maintenance on, after a question, or off."""
    on = verb == "start"
    thing = _Maintenance.named("", "maintenance", {"on": not on}, {"on": on})
    return answer(request, ACTIONS[verb], thing, "aggregations")
