"""Chunk actions: one entry for each verb with its label, and the stages from which a task can be restarted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from console.access.permissions import TABLE, Verb


class ChunkAction(NamedTuple):
    """An action on chunks; its URL name ends with `verb`."""

    verb: str
    label: str | Promise
    icon: str
    note: str | Promise = ""
    irreversible: bool = False

    @property
    def url_name(self) -> str:
        """The URL name of the action."""
        return f"task-chunks-{self.verb}"

    @property
    def permission(self) -> Verb | None:
        """The permission that the action needs."""
        return TABLE[self.url_name]


ACTIONS: dict[str, ChunkAction] = {
    action.verb: action
    for action in (
        ChunkAction("retry", _("Retry"), "refresh", _("They run again now, with all their attempts.")),
        ChunkAction("postpone", _("Postpone"), "calendar-time", _("Its next attempt waits until then.")),
        ChunkAction("drop", _("Drop"), "x", _("A dropped chunk has no result: the reduce goes without it.")),
        ChunkAction("skip", _("Skip"), "chevron-right", _("It counts as done, with no value as its result.")),
        ChunkAction("release", _("Release"), "door-exit", _("It is taken from its worker and waits for another one.")),
        ChunkAction(
            "speculate", _("Run a second copy"), "arrows-split-2", _("Whichever copy ends first gives the result.")
        ),
    )
}


class Start(NamedTuple):
    """A stage from which a task can be restarted."""

    stage: str
    label: str | Promise
    title: str | Promise  # a complete sentence
    note: str | Promise
    irreversible: bool = False


STARTS: dict[str, Start] = {
    start.stage: start
    for start in (
        Start(
            "reduce",
            _("From reduce"),
            _("Restart from reduce"),
            _("The results of the chunks are reduced again."),
        ),
        Start(
            "failed",
            _("From process: failed chunks"),
            _("Restart the failed chunks"),
            _("Failed chunks run again, then the reduce."),
        ),
        Start(
            "all",
            _("From process: all chunks"),
            _("Restart all chunks"),
            _("All chunks run again; their results are thrown away."),
            True,
        ),
        Start(
            "map",
            _("From map"),
            _("Restart from map"),
            _("The chunks are made anew; all results are thrown away."),
            True,
        ),
    )
}


def allowed(verbs: Iterable[str], may: frozenset[str]) -> list[ChunkAction]:
    """The actions for these verbs that the user's permissions allow."""
    verbs = set(verbs)
    return [action for verb, action in ACTIONS.items() if verb in verbs and action.permission in may]
