"""Part references of a composite, as plain data from the store."""

from __future__ import annotations

import msgspec


class PartRef(msgspec.Struct, frozen=True):
    """One part of a composite as its record names it; ``name`` is empty if the record is gone."""

    order: int
    pool: str
    id: str
    kind: str = "task"
    name: str = ""
    on_failure: str = ""
