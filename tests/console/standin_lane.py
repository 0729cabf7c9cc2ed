"""Single lanes and workers of the stand-in: a task at both ends of a queue, a run of each state."""

from __future__ import annotations

from typing import Any

import pytest

from queueops import control, inspect
from queueops.inspect import LanePage, LaneView, PoolDetail, Stacks, WorkerRun, WorkerView


class LaneWorld:
    """The figures are those of the lists; every text is that of the world."""

    def __init__(self, world: Any) -> None:
        self.world = world

    def lane(self, pool: str, name: str, max_age_s: float = 0.0) -> LaneView | None:
        rows = self.world.lanes()
        row = next((row for row in rows if (row.pool, row.lane) == (pool, name)), None)
        if row is None:
            return None
        first, *_, last = self.world.states
        return LaneView(
            row=row,
            first=(self.world.row(first),),
            last=(self.world.row(last),),
            holders=(self.world.row("task-1"),),
            alarms=(),
            bound="limit of 2" if row.limit else "",
            names=((self.world.text, 3),),
        )

    def trash(self, name: str) -> int:
        self.world._ask()
        return 3

    def empty_trash(self, pool: str, *, seconds: float | None = None) -> control.EmptiedTrash:
        self.world._act("empty_trash", pool)
        return control.EmptiedTrash(3, 0)

    def pool(self, name: str, max_age_s: float = 0.0) -> PoolDetail | None:
        snapshot = self.world.snapshot()
        view = next((pool for pool in snapshot.pools if pool.name == name), None)
        if view is None:
            return None
        return PoolDetail(
            view=view,
            now_ms=self.world.now,
            lanes=snapshot.lanes,
            workers=tuple(self.world.workers()),
            alarms=snapshot.alarms,
        )

    def lane_page(self, pool: str = "", after: str = "", max_age_s: float = 0.0) -> LanePage:
        return LanePage(rows=tuple(self.world.lanes()))

    def worker(self, id: str, max_age_s: float = 0.0) -> WorkerView | None:
        row = next((row for row in self.world.workers() if row.id == id), None)
        if row is None:
            return None
        text, now = self.world.text, self.world.now
        ends = (("succeeded", now - 80_000), ("failed", now - 89_000), (text, now), ("locked", None))
        return WorkerView(
            row=row,
            now_ms=now,
            python=text,
            done=1234,
            names=(text,),
            stacks=Stacks(at_ms=now - 1000, text=f"Thread 0x1 (most recent call first):\n  {text}"),
            memory=((now - 120_000, 40_000_000), (now - 60_000, None), (now, 50_000_000)),
            runs=tuple(
                WorkerRun(id=f"task-{n}", pool="default", name=text, state=state, begun_ms=now - 90_000, ended_ms=end)
                for n, (state, end) in enumerate(ends)
            ),
        )

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Answer in the engine's place."""
        monkeypatch.setattr(inspect, "lane", self.lane)
        monkeypatch.setattr(inspect, "lane_page", self.lane_page)
        monkeypatch.setattr(inspect, "worker", self.worker)
        monkeypatch.setattr(inspect, "pool", self.pool)
        monkeypatch.setattr(inspect, "trash", self.trash)
        monkeypatch.setattr(control, "empty_trash", self.empty_trash)
