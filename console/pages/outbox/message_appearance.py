"""Texts of commands between pools: what each command does."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

WORDS: dict[str, str | Promise] = {
    "activate": _("its turn has come"),
    "follow": _("the part before it has succeeded"),
    "cancel": _("what it is part of is over"),
    "uproot": _("what it is part of was not pushed after all"),
    "resume": _("what it is part of runs again"),
    "ended": _("a part of it has ended"),
    "progress": _("how far a part of it is"),
    "look": _("what it is part of asks whether it has ended"),
    "ask": _("a part asks whether it is still there"),
}


def says(verb: str) -> str:
    """The text of a verb; an unknown verb is its own text."""
    return str(WORDS.get(verb, verb))
