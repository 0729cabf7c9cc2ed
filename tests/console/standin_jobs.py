"""Jobs of the stand-in: aggregations, destinations and callbacks in each state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queueops import inspect
from queueops.inspect import (
    CALLBACK_STATES,
    CallbackPage,
    CallbackRow,
    JobLane,
    JobLanePage,
    JobStory,
    TaskDetail,
)

if TYPE_CHECKING:
    from tests.console.standin import World


class JobWorld:
    """Answers for the questions about jobs."""

    def __init__(self, world: World) -> None:
        self.world = world

    def aggregations(self, pool: str = "", after: str = "", limit: int = 50) -> JobLanePage:
        self.world._ask()
        return JobLanePage(rows=(self._lane("aggr:a", False), self._lane("aggr:b", True)), next="more")

    def job_lane(self, lane: str, pool: str = "default") -> JobLane | None:
        self.world._ask()
        return self._lane(lane, False)

    def callbacks(
        self, state: str = "", destination: str = "", pool: str = "", after: str = "", limit: int = 50
    ) -> CallbackPage:
        self.world._ask()
        rows = tuple(self._row(number, str(word)) for number, word in enumerate(CALLBACK_STATES.values()))
        return CallbackPage(rows=rows, next="more", total=6)

    def job_story(self, task: TaskDetail) -> JobStory:
        self.world._ask()
        return JobStory(job=task, callbacks=(self._row(3, "failed"),), bodies=(self.world.text,))

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(inspect, "aggregations", self.aggregations)
        monkeypatch.setattr(inspect, "destinations", self.aggregations)
        monkeypatch.setattr(inspect, "job_lane", self.job_lane)
        monkeypatch.setattr(inspect, "callbacks", self.callbacks)
        monkeypatch.setattr(inspect, "job_story", self.job_story)

    def _lane(self, lane: str, paused: bool) -> JobLane:
        counts = {"pending": 1200, "postponed": 3, "restart": 2, "locked": 4, "failed": 7}
        return JobLane(
            pool="default",
            lane=lane,
            id=self.world.text,
            limit=4,
            rate=2.5,
            paused=paused,
            used_ms=self.world.now,
            oldest_ms=self.world.now - 9000,
            counts=counts,
        )

    def _row(self, number: int, state: str) -> CallbackRow:
        return CallbackRow(
            id=f"callback-{number}",
            pool="default",
            state=state,
            lane="to:shop.example",
            url=f"https://shop.example/{self.world.text}",
            job="task-1",
            success=number % 2 == 0,
            attempt=number,
            retries=9,
            entered_ms=self.world.now - 9000,
            due_ms=self.world.now + 60_000 if state == "restart" else None,
            answer=self.world.text if number else "",
            allowed=("retry",),
        )
