"""Pagination cursor: for each pool the index that is walked, and its last shown row."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection

import msgspec

from queueops.errors import FilterError

Places = dict[str, tuple[str, str, str]]
"""Pool to (index, score, id); score and id are empty at the beginning."""

LONGEST = 20_000


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
    except (binascii.Error, ValueError) as error:
        raise broken() from error
    return {pool: (index, _plain(score), id) for pool, (index, score, id) in places.items() if pool in pools}


def _plain(score: str) -> str:
    """The number in Redis' syntax: Python also accepts `1_000` and ` 1`."""
    return format(float(score), ".17g") if score else ""


def broken() -> FilterError:
    """The error for a position that is not one of this list."""
    return FilterError(reason="the position in the list (after) is not one of this list; begin at its first page.")
