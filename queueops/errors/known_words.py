"""Advice about an unknown word: the known word that is most like it, or all known words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

MOST_LISTED = 40
"""The most known words that one message lists."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like this one; empty if none is like it."""
    by_lower = {name.lower(): name for name in sorted(known)}
    return next((by_lower[near] for near in difflib.get_close_matches(word.lower(), by_lower, n=1)), "")


def advice(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the nearest known one, or all of them."""
    names = sorted(known)
    if near := nearest(word, names):
        return f"; did you mean {near!r}?"
    return f"; known are: {listed(names)}" if names else "; there are none"


def listed(names: Sequence[str]) -> str:
    """The words in one line; of many the first ones."""
    return ", ".join((*names[:MOST_LISTED], "…") if len(names) > MOST_LISTED else names)
