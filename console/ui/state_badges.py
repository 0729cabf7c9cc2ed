"""State badges: each state's icon and, by its CSS class in `states.css`, its colour."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from queueops.model.states import State


class Look(NamedTuple):
    """The name of the icon in the sprite, and the meaning of the state in a sentence."""

    icon: str
    meaning: str | Promise


LOOKS: dict[str, Look] = {
    State.WAITING: Look("link", _("waits for another task")),
    State.POSTPONED: Look("calendar-time", _("starts at a later time")),
    State.PENDING: Look("hourglass", _("waits in its lane for a worker")),
    State.LOCKED: Look("player-play", _("a worker runs it")),
    State.MAPPING: Look("arrows-split-2", _("a worker runs its map")),
    State.REDUCING: Look("arrows-join-2", _("a worker runs its reduce")),
    State.RESTART: Look("rotate-clockwise", _("failed, and will be tried again")),
    State.IDLE: Look("zzz", _("waits for its children or for an event")),
    State.AGGREGATING: Look("stack-2", _("its parts are being worked on")),
    State.QUARANTINED: Look("biohazard", _("cannot be read or run; an operator must look")),
    State.SUCCEEDED: Look("circle-check", _("ended well")),
    State.FAILED: Look("circle-x", _("ended with an error")),
    State.CANCELLED: Look("ban", _("was ended by a person or by itself")),
}

UNKNOWN = Look("help-circle", _("this version does not know the state"))


def look(state: str) -> Look:
    """The appearance of a state, also of an unknown one."""
    return LOOKS.get(state, UNKNOWN)


def css_class(state: str) -> str:
    """The CSS class of the state's colour; only known states give their name to it."""
    return f"st-{state}" if state in LOOKS else "st-unknown"
