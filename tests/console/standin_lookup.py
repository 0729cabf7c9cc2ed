"""The look-up of the stand-in: hits among what its other questions answer."""

from __future__ import annotations

from typing import Any

import pytest

from queueops import inspect
from queueops.inspect import FoundIds, LookUp, NamedHit, TaskQuery
from queueops.model.ids import ID


class LookUpWorld:
    """Tasks by id and by its beginning, other things by a part of their names."""

    def __init__(self, world: Any) -> None:
        self.world = world

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Answer in the engine's place."""
        monkeypatch.setattr(inspect, "look_up", self.look_up)
        monkeypatch.setattr(inspect, "tasks_with_prefix", self.tasks_with_prefix)

    def tasks_with_prefix(self, prefix: str, limit: int = 20) -> FoundIds:
        self.world._ask()
        found = tuple(self.world.row(id) for id in self.world.states if id.startswith(prefix))
        return FoundIds(rows=found[:limit], partial=True)

    def look_up(self, wanted: str, most: int = 20, *, id: str = "") -> LookUp:
        part, begun, id = wanted.casefold(), self.tasks_with_prefix(wanted, most), id or wanted
        names = {name for name, _ in inspect.facets(TaskQuery())["name"]} | {task.name for task in inspect.registry()}
        lanes = (NamedHit(name=row.lane, about=row.pool) for row in inspect.lanes() if part in row.lane.casefold())
        workers = (NamedHit(name=row.id, about=row.host) for row in inspect.workers())
        errors = (NamedHit(name=row.type, id=row.fingerprint, about=row.name) for row in inspect.errors())
        return LookUp(
            tasks=inspect.tasks(TaskQuery(id=id)).rows if ID.fullmatch(id) else (),
            begun=begun.rows,
            partial=begun.partial,
            names=tuple(sorted(name for name in names if part in name.casefold())),
            tags=tuple(tag for tag, count in inspect.facets(TaskQuery()).get("tag", []) if part in tag and count),
            pools=tuple(pool for pool, _ in inspect.facets(TaskQuery()).get("pool", []) if part in pool.casefold()),
            lanes=tuple(lanes),
            workers=tuple(hit for hit in workers if part in f"{hit.name} {hit.about}".casefold()),
            errors=tuple(hit for hit in errors if part in hit.name.casefold()),
        )
