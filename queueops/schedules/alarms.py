"""Alarms of schedules: paused ones whose next run was due since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from queueops.inspect.alarms import Alarm, manage, warning
from queueops.inspect.spans import span


def alarms(pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """One alarm for each paused schedule of a pool that has missed runs."""
    for row in sampled.get("paused_schedules") or ():
        id, age = str(row["id"]), sampled["taken"] - int(row["due"])
        if age > 0:
            text = f"Schedule {id[:100]} of pool {pool} is paused and has missed runs, the first {span(age)} ago."
            command = manage("queue", "schedule", id, "resume", "--pool", pool)
            yield warning(text, "schedules", command, "resume_schedule", f"{pool}/{id}")
