"""The status head, the list of tasks and the search of the stand-in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from queueops import inspect
from queueops.inspect import (
    Alarm,
    Count,
    OperationPreview,
    OperationWait,
    SearchStep,
    Status,
    TaskList,
    TaskQuery,
    status_of,
)

if TYPE_CHECKING:
    from tests.console.standin import World


class StatusWorld:
    """The status is that of the world's snapshot; a search finds nothing more."""

    def __init__(self, world: World) -> None:
        self.world = world

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Answer in the engine's place."""
        monkeypatch.setattr(inspect, "status", self.status)
        monkeypatch.setattr(inspect, "search", self.search)
        monkeypatch.setattr(inspect, "browse", self.browse)
        monkeypatch.setattr(inspect, "counts", self.counts)
        monkeypatch.setattr(inspect, "operation_waits", self.operation_waits)
        monkeypatch.setattr(inspect, "operation_preview", self.operation_preview)

    def status(self, max_age_s: float = 0.0) -> Status:
        if self.world.down:
            return Status(version="down", alarms=(Alarm(level="danger", text="The store does not answer."),))
        return status_of(type(self.world).snapshot(self.world))

    def operation_waits(self, query: TaskQuery) -> list[OperationWait]:
        return [OperationWait(pool="default", reason="no worker")]

    def operation_preview(self, verb: str, query: TaskQuery, *, asked_ms: int) -> OperationPreview:
        return OperationPreview(looked=3, matched=3, whole=True, names=(("shop.mail", 3),), parts=(), refused=())

    def search(self, query: TaskQuery, after: str, most: int = 4) -> SearchStep:
        return SearchStep(seen=8000, total=8000)

    def counts(self, queries: Sequence[TaskQuery], max_age_s: float = 0.0) -> tuple[Count, ...]:
        return tuple(Count(number=2, exact=True) for _ in queries)

    def browse(
        self,
        query: TaskQuery,
        after: str = "",
        limit: int = 50,
        shown: Sequence[tuple[str, str]] = (),
        max_age_s: float = 0.0,
    ) -> TaskList:
        rows = {(pool, id): self.world.row(id) if id in self.world.states else None for pool, id in shown}
        return TaskList(page=inspect.tasks(query, after, limit), facets=inspect.facets(query), shown=rows)
