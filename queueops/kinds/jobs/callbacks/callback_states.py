"""States of callbacks: a word for each, beside the state of its record."""

from __future__ import annotations

from queueops.model.states import State

CALLBACK_STATES: dict[str, State] = {
    "scheduled": State.POSTPONED,
    "pending": State.PENDING,
    "in_flight": State.LOCKED,
    "backing_off": State.RESTART,
    "dead": State.FAILED,
    "delivered": State.SUCCEEDED,
    "discarded": State.CANCELLED,
}
"""Words for the states of a callback, and the states of its record."""
_WORDS: dict[str, str] = {state: word for word, state in CALLBACK_STATES.items()}


def callback_word(state: str) -> str:
    """The word for the state of a callback's record; a state without a word is its own."""
    return _WORDS.get(state, state)
