"""Schedule store: what the firing of schedules calls of a broker."""

from __future__ import annotations

from typing import Protocol

from queueops.schedules.definition import Firing, ScheduleDefinition, Schedules, ScheduleState


class ScheduleStore(Protocol):
    """Component that stores schedules, and creates their tasks."""

    def schedules(self, pool: str) -> Schedules:
        """All schedules of a pool."""

    def ripe_schedules(self, pool: str) -> Schedules:
        """The schedules whose tick is due, or whose deferred run can start."""

    def put_schedule(
        self, pool: str, definition: ScheduleDefinition, due_ms: int | None, *, seen: str = "", who: str = ""
    ) -> str:
        """Define a schedule; returns OK, REPEAT, STALE, TAKEN or GONE. Raises TooMany."""

    def change_schedule(
        self,
        pool: str,
        id: str,
        verb: str,
        data: bytes = b"",
        due_ms: int | None = None,
        *,
        seen: str = "",
        who: str = "",
    ) -> str:
        """Put, align, pause, resume, orphan, rest or delete; returns OK, REPEAT, STALE or GONE."""

    def fire(self, row: ScheduleState, definition: ScheduleDefinition, firing: Firing) -> list[str]:
        """Create the tasks of a tick; returns a word for all (OK, REPEAT, STALE, GONE), then one for each run."""
