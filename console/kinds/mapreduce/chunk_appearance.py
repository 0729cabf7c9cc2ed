"""Chunk states: the colour and icon of each, taken from the task state with the same meaning."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from console.ui import state_badges
from queueops.model.states import ChunkState, State


class ChunkLook(NamedTuple):
    """The task state that gives the colour, the icon, and the meaning in a sentence."""

    like: State
    icon: str
    meaning: str | Promise

    @property
    def css_class(self) -> str:
        """The CSS class of the colour."""
        return state_badges.css_class(self.like)


LOOKS: dict[str, ChunkLook] = {
    ChunkState.DONE: ChunkLook(State.SUCCEEDED, "circle-check", _("has its result")),
    ChunkState.ACTIVE: ChunkLook(State.LOCKED, "player-play", _("a worker runs it")),
    ChunkState.PENDING: ChunkLook(State.PENDING, "hourglass", _("waits for a worker")),
    ChunkState.ERRORED: ChunkLook(State.RESTART, "rotate-clockwise", _("failed, and will be tried again")),
    ChunkState.FAILED: ChunkLook(State.FAILED, "circle-x", _("failed for good, or was dropped")),
}
"""In the order in which counts are shown."""

GONE = ChunkLook(State.CANCELLED, "ban", _("there is no such chunk any more"))


def look(state: str) -> ChunkLook:
    """The appearance of a chunk state."""
    return LOOKS.get(state, GONE)
