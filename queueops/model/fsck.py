"""What the consistency check answers with."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as it should be; `id` is a task, a chunk, `~lane:` and a lane, or `~name:` and a name."""

    pool: str
    id: str
    text: str


class FsckPage(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the check; `next` goes on from there, empty at the end."""

    faults: tuple[Fault, ...]
    looked: int  # so many names of tasks and chunks were looked at; one task has several
    next: str = ""


def fsck_page(pool: str, looked: int, faults: Iterable[tuple[str, str]], following: str) -> FsckPage:
    """A step as the store answers it."""
    found = tuple(Fault(pool=pool, id=id, text=text) for id, text in faults)
    return FsckPage(faults=found, looked=looked, next=following)
