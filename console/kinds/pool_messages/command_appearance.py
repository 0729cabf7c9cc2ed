"""Texts of messages between pools: what each message does."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

WORDS: dict[str, str | Promise] = {
    "activate": _("the turn of the part has come"),
    "follow": _("the previous part has succeeded"),
    "cancel": _("the parent task has ended"),
    "uproot": _("the push of the parent task was not completed"),
    "resume": _("the parent task runs again"),
    "ended": _("a part has ended"),
    "progress": _("progress of a part"),
    "look": _("the parent task asks whether the part has ended"),
    "follow_up": _("the task that it follows has ended"),
    "ask": _("a part asks whether its parent task still exists"),
}


def says(verb: str) -> str:
    """The text of a verb; an unknown verb is its own text."""
    return str(WORDS.get(verb, verb))
