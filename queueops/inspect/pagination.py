"""Pagination: lists of several pools as one, and a cursor with the last shown row of each pool."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Collection, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from queueops.errors import FilterError
from queueops.model.sentences import say

T = TypeVar("T")
Place = tuple[str, str, str]
"""(index, score, id) of a row; score and id are empty at the beginning."""
Places = dict[str, Place]
BEGIN: Place = ("", "", "")

LONGEST = 20_000


class Walk(msgspec.Struct, Generic[T]):
    """What was read of one pool's list."""

    start: Place
    rows: list[tuple[Place, T]]
    next: Place | None  # the place after the rows; None at the end of the list
    size: int = 0  # of the whole list, if it was counted


def merge(walks: Mapping[str, Walk[T]], limit: int, key: Callable[[str, T], Any]) -> tuple[list[tuple[str, T]], Places]:
    """The first rows of all pools, the lowest key first, and where each pool continues.

    The rows of one pool stay in their order.
    """
    taken: list[tuple[str, T]] = []
    shown = dict.fromkeys(walks, 0)
    while len(taken) < limit:
        heads = [(pool, walk.rows[shown[pool]][1]) for pool, walk in walks.items() if shown[pool] < len(walk.rows)]
        if not heads:
            break
        head = min(heads, key=lambda head: key(*head))
        taken.append(head)
        shown[head[0]] += 1
    found = {pool: _following(walk, shown[pool]) for pool, walk in walks.items()}
    return taken, {pool: place for pool, place in found.items() if place is not None}


def _following(walk: Walk[T], shown: int) -> Place | None:
    if shown == len(walk.rows):
        return walk.next
    return walk.rows[shown - 1][0] if shown else walk.start


def write(places: Places) -> str:
    """The cursor as a parameter of a URL; empty at the end of the list."""
    return base64.urlsafe_b64encode(msgspec.json.encode(places)).rstrip(b"=").decode() if places else ""


def read(cursor: str, pools: Collection[str], indexes: Collection[str]) -> Places:
    """Parse the parameter; other pools are left out. Raises FilterError for another index or a damaged text."""
    if len(cursor) > LONGEST:
        raise broken()
    try:
        data = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        places = msgspec.json.decode(data, type=Places)
        for index, score, _ in places.values():
            if index not in indexes or (score and not abs(float(score)) < float("inf")):
                raise broken()
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:  # older msgspec: no ValueError
        raise broken() from error
    return {pool: (index, _plain(score), id) for pool, (index, score, id) in places.items() if pool in pools}


def _plain(score: str) -> str:
    """The number in Redis' syntax: Python also accepts `1_000` and ` 1`."""
    return format(float(score), ".17g") if score else ""


def broken() -> FilterError:
    """The error for a position that is not in this list."""
    reason = say("the position in the list (after) is not one of this list; begin at its first page.")
    return FilterError(reason=reason)
