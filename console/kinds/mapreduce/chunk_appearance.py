"""Chunk states: the colour and icon of each, taken from the task state with the same meaning."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext, pgettext_lazy

from console.ui.state_badges import Look, css_class
from queueops.kinds.mapreduce.states import ChunkState
from queueops.model.states import State

LOOKS: dict[str, Look] = {
    ChunkState.DONE: Look("circle-check", _("has its result"), css_class(State.SUCCEEDED)),
    ChunkState.ACTIVE: Look("player-play", _("a worker runs it"), css_class(State.LOCKED)),
    ChunkState.PENDING: Look("hourglass", _("waits for a worker"), css_class(State.PENDING)),
    ChunkState.ERRORED: Look("rotate-clockwise", _("failed; waits for its next attempt"), css_class(State.RESTART)),
    ChunkState.FAILED: Look("circle-x", _("failed after its last attempt, or was dropped"), css_class(State.FAILED)),
}
"""In the order in which counts are shown."""

LABELS: dict[str, str | Promise] = {
    ChunkState.DONE: pgettext_lazy("state of a chunk", "done"),
    ChunkState.ACTIVE: pgettext_lazy("state of a chunk", "active"),
    ChunkState.PENDING: pgettext_lazy("state of a chunk", "pending"),
    ChunkState.ERRORED: pgettext_lazy("state of a chunk", "errored"),
    ChunkState.FAILED: pgettext_lazy("state of a chunk", "failed"),
}
GONE = Look("ban", _("the chunk does not exist any more"), css_class(State.CANCELLED))


def look(state: str) -> Look:
    """The appearance of a chunk state."""
    return LOOKS.get(state, GONE)


def label(state: str) -> str:
    """The word for a chunk state on pages; the stored word is in filters and URLs."""
    return str(LABELS.get(state, state)) if state else pgettext("state of a chunk", "gone")
