"""Schedules of the stand-in: one of the code, one that a person made, and what is wrong with some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from queueops import control, inspect
from queueops.inspect import ScheduleDetail, ScheduleEvent, ScheduleRow

if TYPE_CHECKING:
    from tests.console.standin import World

CONDITIONS = {"task-1": "active", "from/code": "active", "late": "late", "gone": "removed", "bad": "broken"}


class ScheduleWorld:
    """Answers for `inspect.schedules` and its like; what is done is taken down by the world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.conditions = dict(CONDITIONS) | {"resting": "paused"}

    def schedules(self, pool: str = "") -> inspect.Listing[ScheduleRow]:
        self.world._ask()
        return inspect.Listing(ScheduleRow(**self._facts(id)) for id in self.conditions)

    def schedule(self, id: str, pool: str = "", *, runs: int = 5) -> ScheduleDetail | None:
        self.world._ask()
        if id not in self.conditions:
            return None
        now, text = self.world.now, self.world.text
        words = ("FIRED", "SKIPPED", "MISSED", "FULL", text)
        history = tuple(
            ScheduleEvent(
                t=now, word=word, tick_ms=now - 1000, task="task-2", state="pending", count=number + 1, who=text
            )
            for number, word in enumerate(words)
        )
        return ScheduleDetail(
            **self._facts(id),
            version="7",
            args_json=f'[["{text}", 1], {{"key": true}}]',
            lane=text,
            created_ms=now,
            edited_ms=now,
            edited_by=text,
            runs=tuple(now + 3_600_000 * n for n in range(1, runs + 1)),
            history=history,
        )

    def unkept_schedules(self) -> tuple[str, ...]:
        return (self.world.text,)

    def next_runs(self, line: str, zone: str, count: int = 5) -> tuple[int, ...]:
        self.world._ask()
        return tuple(self.world.now + 60_000 * n for n in range(1, count + 1))

    def backfill(self, line: str, zone: str, since_ms: int, until_ms: int) -> inspect.Backfill:
        self.world._ask()
        return inspect.Backfill(count=3, first=(since_ms, until_ms), last=())

    def schedulable(self) -> list[str]:
        return [self.world.text]

    def create(self, *values: Any, **named: Any) -> str:
        self.world._act("create_schedule", (values, named))
        return "task-1"

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Answer and act in the engine's place, without a check of what a form says."""
        for name in ("schedules", "schedule", "next_runs", "schedulable", "unkept_schedules"):
            monkeypatch.setattr(inspect, name, getattr(self, name))
        monkeypatch.setattr(control, "check_schedule", lambda *values, **named: None)
        monkeypatch.setattr(control, "create_schedule", self.create)
        monkeypatch.setattr(inspect, "backfill", self.backfill)
        done = self.world._verb(self.world.other, "backfill_schedule")
        backfilled = control.Backfilled(3, 0)
        monkeypatch.setattr(control, "backfill_schedule", lambda *each, **named: done(*each, **named) and backfilled)
        for verb in ("update", "pause", "resume", "run", "delete"):
            name = f"{verb}_schedule"
            monkeypatch.setattr(control, name, self.world._verb(self.world.other, name))

    def _facts(self, id: str) -> dict[str, Any]:
        condition, now, text = self.conditions[id], self.world.now, self.world.text
        facts = {
            "id": id,
            "pool": "default",
            "condition": condition,
            "next_ms": now + 60_000 if condition == "active" else now - 20_000 if condition == "late" else None,
            "last_ms": now - 5000,
            "last_task": "task-2",
            "last_state": "pending",
            "fired": 12,
            "skipped": 3,
            "missed": 1,
            "paused_ms": now if condition == "paused" else None,
            "paused_by": text if condition == "paused" else "",
            "removed_ms": now if condition == "removed" else None,
            "broken": text if condition == "broken" else "",
        }
        if condition == "broken":
            return facts
        return facts | {
            "task": text,
            "kind": "task",
            "line": "0 3 * * *",
            "zone": "Europe/Berlin",
            "jitter_ms": 1500,
            "catch_up": "once",
            "overlap": "queue",
            "queued": 2,
            "source": "code" if id == "from/code" else "console",
            "args": text,
            "note": text,
        }
