"""Answers of the store about chunks."""

from __future__ import annotations

import msgspec


class ChunkRow(msgspec.Struct, frozen=True):
    """One chunk of a map-reduce task: its number, its state ('' = gone) and the requested fields."""

    number: int
    state: str
    fields: dict[str, bytes | None]


class ChunkAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an action on chunks: how many changed, how many remain of a whole state, and the states.

    ``state`` is the task's, ``refused`` those of refused chunks by number ('' = gone). ``unfit`` counts chunks of a
    whole state that kept their data: it has no fields or would be too long.
    """

    changed: int
    left: int
    state: str
    refused: dict[int, str]
    unfit: int = 0
