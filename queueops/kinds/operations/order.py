"""Order of an operation: what it does, to which tasks. It is fixed when the operation begins."""

from __future__ import annotations

import msgspec

OPERATION = "bulk_action"
"""The kind and the name of an operation's task."""
LANE = "operations"


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """A bulk action on the tasks of one pool. It is the keyword arguments of the operation's task.

    ``indexes`` are walked one after the other. A task is changed if its record has all ``wanted`` fields, and if it
    entered its state before ``asked_ms``.
    """

    verb: str
    token: str
    indexes: tuple[str, ...]
    wanted: tuple[tuple[str, str], ...] = ()
    most: int
    asked_ms: int
    value: str = ""
    hard: bool = False
    who: str = ""
    filter: dict[str, str] = {}
    takes_back: bool = False  # it undoes what the token's action did


class Step(msgspec.Struct, frozen=True):
    """How far an operation has come: a word (MORE, END, HELD, STOP, STALE), and the tasks that were seen and changed.

    ``cancelled`` are those that this step cancelled, of the kinds that the call asked for.
    """

    word: str
    seen: int
    changed: int
    cancelled: tuple[str, ...] = ()


class OperationRow(msgspec.Struct, frozen=True, kw_only=True):
    """An operation as it is stored. Times are epoch ms, empty texts and None: nothing."""

    id: str
    state: str
    args: bytes
    created_ms: int | None
    ended_ms: int | None
    reason: str
    began_ms: int | None
    held_ms: int | None
    seen: int
    changed: int
    left: int
    why: str
    rate: float
    looked: int
    stopping: str
    crashes: int
    is_cut: bool
    error: bytes
    attempts: int
