"""Chunk reference: parses `<task>#<number>`, the engine's id of a chunk in heartbeats and errors."""

from __future__ import annotations

import re
from typing import NamedTuple

FORM = re.compile(r"(?P<task>[^#]+)#(?P<number>[0-9]{1,9})~?")


class ChunkRef(NamedTuple):
    """The task's id and the number of one of its chunks."""

    task: str
    number: int


def read(id: str) -> ChunkRef | None:
    """The chunk that the id names; None if it names a task. A second run counts as the chunk itself."""
    found = FORM.fullmatch(id)
    return ChunkRef(found["task"], int(found["number"])) if found else None
