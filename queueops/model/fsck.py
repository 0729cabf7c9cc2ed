"""Consistency check results."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One inconsistency; `id` is a task, a chunk, `~lane:` and a lane, or `~name:` and a name."""

    pool: str
    id: str
    text: str


class FsckPage(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the check; `next` is where the following step begins, empty at the end."""

    faults: tuple[Fault, ...]
    looked: int  # names of tasks and chunks that were examined; one task has several
    next: str = ""


def fsck_page(pool: str, looked: int, faults: Iterable[tuple[str, str]], following: str) -> FsckPage:
    """Parse the store's reply of one step."""
    found = tuple(Fault(pool=pool, id=id, text=text) for id, text in faults)
    return FsckPage(faults=found, looked=looked, next=following)
