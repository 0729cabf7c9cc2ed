"""Consistency check results."""

from __future__ import annotations

import msgspec

KEY, ADVICE = "~key:", "Delete it, or restore it."
"""The prefix of a fault's `id` that is the name of a key of a wrong type, and what its text ends with."""


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
