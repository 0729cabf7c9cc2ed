"""A chunk as the engine names it where tasks are named, in heartbeats and errors: `<task>#<number>`."""

from __future__ import annotations

import re
from typing import NamedTuple

FORM = re.compile(r"(?P<task>[^#]+)#(?P<number>[0-9]{1,9})~?")


class ChunkRef(NamedTuple):
    """One chunk of one task."""

    task: str
    number: int


def read(id: str) -> ChunkRef | None:
    """The chunk that is meant; None where it is a task. A second copy counts as the chunk itself."""
    found = FORM.fullmatch(id)
    return ChunkRef(found["task"], int(found["number"])) if found else None
