"""Jobs of the stand-in: aggregations, destinations and callbacks in each state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

from queueops import control, inspect
from queueops.control import NewApiToken
from queueops.inspect import (
    CALLBACK_STATES,
    ApiToken,
    CallbackPage,
    CallbackRow,
    Circuit,
    FullDisk,
    JobLane,
    JobLanePage,
    JobStory,
    Maintenance,
    OrphanFiles,
    QueuedFilePage,
    QueuedFileRow,
    StoredFile,
    StoredFilePage,
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

    def destination(self, host: str, pool: str = "default") -> JobLane | None:
        self.world._ask()
        circuit = Circuit(
            address=f"https://{host}/x", state="open", failures=5, shut_ms=self.world.now + 9000, waiting=3
        )
        return structs.replace(self._lane(f"to:{host}", False), circuits=(circuit,))

    def callbacks(
        self, state: str = "", destination: str = "", pool: str = "", after: str = "", limit: int = 50
    ) -> CallbackPage:
        self.world._ask()
        rows = tuple(self._row(number, str(word)) for number, word in enumerate(CALLBACK_STATES.values()))
        return CallbackPage(rows=rows, next="more", total=6)

    def job_story(self, task: TaskDetail) -> JobStory:
        self.world._ask()
        return JobStory(
            job=task, aggregation=self.world.text, callbacks=(self._row(3, "failed"),), bodies=(self.world.text,)
        )

    def stored_files(self, pool: str = "", after: str = "", limit: int = 50) -> StoredFilePage:
        self.world._ask()
        facts = {"pool": "default", "job": "task-1", "aggregation": self.world.text, "size": 4096}
        facts |= {"mime_type": "image/png", "stored_ms": self.world.now - 9000, "deleted_ms": None}
        rows = [StoredFile(path=f"tas/task-{n}", **facts) for n in range(2)]
        return StoredFilePage(rows=(structs.replace(rows[0], deleted_ms=self.world.now), rows[1]), next="more")

    def file_deletions(
        self, pool: str = "", after: str = "", limit: int = 50, *, failed: bool = False
    ) -> QueuedFilePage:
        self.world._ask()
        facts = {"pool": "default", "job": "task-1", "why": "ended", "due_ms": self.world.now + 9000}
        rows = (
            QueuedFileRow(path=f"{self.world.text}/tas/task-1", tries=0, error="", **facts),
            QueuedFileRow(path="tas/task-2", tries=3, error=self.world.text, **facts),
        )
        return QueuedFilePage(rows=rows, next="more", total=2, dropped=1)

    def orphan_files(self, limit: int = 50) -> OrphanFiles:
        self.world._ask()
        return OrphanFiles(paths=(f"{self.world.text}/tas/task-1",), partial=True)

    def maintenance(self) -> Maintenance | None:
        self.world._ask()
        return Maintenance(since_ms=self.world.now - 9000, who="ann", reason=self.world.text)

    def api_tokens(self) -> list[ApiToken]:
        self.world._ask()
        limits = {"rate": 2.5, "body_limit": 9000}
        return [ApiToken(id=6, name="shop", scopes=("submit",), created_ms=self.world.now, created_by="ann", **limits)]

    def create_api_token(self, name: str, scopes: list[str], *, who: str, **limits: Any) -> NewApiToken:
        self.world.other("create_api_token", name, who=who, scopes=scopes, **limits)
        return NewApiToken(secret="qo_of-a-test", token=self.api_tokens()[0])

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(inspect, "aggregations", self.aggregations)
        monkeypatch.setattr(inspect, "destinations", self.aggregations)
        monkeypatch.setattr(inspect, "job_lane", self.job_lane)
        monkeypatch.setattr(inspect, "callbacks", self.callbacks)
        monkeypatch.setattr(inspect, "stored_files", self.stored_files)
        monkeypatch.setattr(inspect, "file_deletions", self.file_deletions)
        monkeypatch.setattr(inspect, "orphan_files", self.orphan_files)
        monkeypatch.setattr(inspect, "job_story", self.job_story)
        monkeypatch.setattr(inspect, "api_tokens", self.api_tokens)
        monkeypatch.setattr(control, "create_api_token", self.create_api_token)
        monkeypatch.setattr(inspect, "maintenance", self.maintenance)
        monkeypatch.setattr(inspect, "full_disks", lambda: (FullDisk(host="web1", percent=96, seen_ms=self.world.now),))
        monkeypatch.setattr(inspect, "uses_jobs", lambda: True)
        monkeypatch.setattr(inspect, "destination", self.destination)
        monkeypatch.setattr(control, "redirect_callbacks", self.world._verb(self.world.act, "redirect_callbacks"))
        monkeypatch.setattr(control, "redeliver_callbacks", self.world._verb(self.world.act, "redeliver_callbacks"))
        for name in ("drain_aggregation", "accept_jobs", "set_proxy", "delete_aggregation"):
            monkeypatch.setattr(control, name, self.world._verb(self.world.other, name))
        for name in ("start_maintenance", "stop_maintenance", "revoke_api_token"):
            monkeypatch.setattr(control, name, self.world._verb(self.world.other, name))
        for name in ("send_test_callback", "close_circuit", "delete_file", "keep_file"):
            monkeypatch.setattr(control, name, self.world._verb(self.world.other, name))

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
