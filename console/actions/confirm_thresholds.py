"""Confirmation thresholds: when an action asks first, by the number of tasks and whether it can be undone."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

AT_ONCE = 20  # reversible, up to here: act, and offer an undo
ASK = 1000  # reversible, up to here: ask, and show the count


class Need(StrEnum):
    """The confirmation that an action needs."""

    NOTHING = "nothing"
    ASK = "ask"
    TYPE = "type"  # type the count and give a reason


def need(count: int, *, irreversible: bool, far_reaching: bool = False) -> Need:
    """The confirmation for an action on `count` rows; a far-reaching action is confirmed even for one row."""
    if irreversible or count > ASK:
        return Need.TYPE
    return Need.NOTHING if count <= AT_ONCE and not far_reaching else Need.ASK


def is_confirmed(needed: Need, count: int, sent: Mapping[str, str]) -> bool:
    """Whether the submitted form confirms exactly this number."""
    if needed is Need.NOTHING:
        return True
    if sent.get("confirmed") != str(count):
        return False
    return needed is Need.ASK or (sent.get("typed", "").strip() == str(count) and bool(sent.get("reason", "").strip()))
