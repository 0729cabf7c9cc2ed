"""Pools in which somebody else wrote: what of them can be read is answered, and what can't is named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

T = TypeVar("T")
SHOWN = 5


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """A pool in which keys hold something else than they should; to every question these count as empty."""

    pool: str
    keys: tuple[str, ...]  # each with what it is, and what it should be

    def __str__(self) -> str:
        """In a sentence, with what is to be done."""
        more = f"; and {len(self.keys) - SHOWN} more" if len(self.keys) > SHOWN else ""
        keys = "; ".join(self.keys[:SHOWN])
        return f"Pool {self.pool} is broken: {keys}{more}. Somebody else wrote there: delete the key, or restore it."


class Listing(list[T]):
    """Rows, and the pools that could not be read in full."""

    def __init__(self, rows: Iterable[T] = (), broken: tuple[Broken, ...] = ()) -> None:
        """`broken` says where rows may be missing."""
        super().__init__(rows)
        self.broken = broken


def broken_pools(found: Mapping[str, Iterable[str]]) -> tuple[Broken, ...]:
    """The pools that have broken keys, by name."""
    known = {pool: tuple(keys) for pool, keys in found.items()}
    return tuple(Broken(pool=pool, keys=known[pool]) for pool in sorted(known) if known[pool])
