"""When an action asks first: by how many it is meant for, and whether it can be undone."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

AT_ONCE = 20  # reversible, and so few: act, and offer an undo
ASK = 1000  # reversible, up to here: ask with the count


class Need(StrEnum):
    """What must be confirmed before an action."""

    NOTHING = "nothing"
    ASK = "ask"
    TYPE = "type"  # type the count, and say why


def need(count: int, *, irreversible: bool, far_reaching: bool = False) -> Need:
    """How much confirmation an action on `count` rows needs; one that reaches other tasks asks for one row, too."""
    if irreversible or count > ASK:
        return Need.TYPE
    return Need.NOTHING if count <= AT_ONCE and not far_reaching else Need.ASK


def is_confirmed(needed: Need, count: int, sent: Mapping[str, str]) -> bool:
    """Whether the sent form holds the confirmation for exactly this number."""
    if needed is Need.NOTHING:
        return True
    if sent.get("confirmed") != str(count):
        return False
    return needed is Need.ASK or (sent.get("typed", "").strip() == str(count) and bool(sent.get("reason", "").strip()))
