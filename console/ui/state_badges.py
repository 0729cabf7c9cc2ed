"""State badges: each state's icon, meaning, and, by its CSS class in `states.css`, colour."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from console.ui.kind_pages import states_of_kinds
from queueops.model.states import State, StateClass, table


class Look(NamedTuple):
    """The appearance of a state: the icon's name in the sprite, the meaning in a sentence, the CSS class."""

    icon: str
    meaning: str | Promise
    css_class: str


_SHOWN: dict[str, tuple[str, str | Promise]] = {
    State.WAITING: ("link", _("waits for another task")),
    State.POSTPONED: ("calendar-time", _("starts at a later time")),
    State.PENDING: ("hourglass", _("waits in its lane for a worker")),
    State.LOCKED: ("player-play", _("a worker runs it")),
    State.RESTART: ("rotate-clockwise", _("failed; waits for its next attempt")),
    State.IDLE: ("zzz", _("waits for its parts")),
    State.QUARANTINED: ("biohazard", _("cannot be read or run; an operator requeues or discards it")),
    State.SUCCEEDED: ("circle-check", _("ended without an error")),
    State.FAILED: ("circle-x", _("ended with an error")),
    State.CANCELLED: ("ban", _("was ended by an operator or by its own code")),
}
LOOKS: dict[str, Look] = {state: Look(*shown, f"st-{state}") for state, shown in _SHOWN.items()}
LABELS: dict[str, str | Promise] = {
    State.WAITING: pgettext_lazy("state", "waiting"),
    State.POSTPONED: pgettext_lazy("state", "postponed"),
    State.PENDING: pgettext_lazy("state", "pending"),
    State.LOCKED: pgettext_lazy("state", "running"),
    State.RESTART: pgettext_lazy("state", "restart"),
    State.IDLE: pgettext_lazy("state", "idle"),
    State.QUARANTINED: pgettext_lazy("state", "quarantined"),
    State.SUCCEEDED: pgettext_lazy("state", "succeeded"),
    State.FAILED: pgettext_lazy("state", "failed"),
    State.CANCELLED: pgettext_lazy("state", "cancelled"),
    "gone": pgettext_lazy("state", "gone"),  # of a part without a record, in counts
}
UNKNOWN = Look("help-circle", _("unknown state; a newer version may have written it"), "st-unknown")
_OF_CLASS: dict[str, Look] = {
    StateClass.LEASED: Look(_SHOWN[State.LOCKED][0], _("a worker runs it"), "st-locked"),
    StateClass.PARKED: Look(_SHOWN[State.IDLE][0], _("waits for what its kind knows"), "st-idle"),
}
"""The appearance of states of kinds, by class."""


def looks() -> dict[str, Look]:
    """The appearance of all states, in their order; kinds bring that of theirs."""
    own = states_of_kinds()
    return {
        str(state): LOOKS.get(state) or Look(own[state].icon, own[state].meaning, f"st-{own[state].like or state}")
        for state in dict.fromkeys((*table().states, *own))
        if state in LOOKS or state in own
    }


def look(state: str) -> Look:
    """The appearance of a state. A state of a kind that brings none looks as others of its class do."""
    return LOOKS.get(state) or looks().get(state) or _OF_CLASS.get(table().classes.get(state, ""), UNKNOWN)


def label(state: str) -> str:
    """The word for a state on pages; the stored word is in tooltips, filters and URLs. Of several, that of each."""
    if state and "," in state:
        return ", ".join(label(each) for each in state.split(","))
    if state in LABELS:
        return str(LABELS[state])
    own = states_of_kinds().get(state)
    return str(own.label or state) if own is not None else state


def css_class(state: str) -> str:
    """The CSS class of the state's colour; only known states give their name to it."""
    return look(state).css_class
