"""How the states of chunks look: the colour and the icon of the state of a task that means the same."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from console.ui import state_badges
from queueops.model.states import ChunkState, State


class ChunkLook(NamedTuple):
    """The state of tasks whose colour it has, its icon, and what it means in a sentence."""

    like: State
    icon: str
    meaning: str | Promise

    @property
    def css_class(self) -> str:
        """The class that carries the colour."""
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
    """The look of a chunk's state."""
    return LOOKS.get(state, GONE)
