"""Alarm about follow-ups that could not be pushed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from queueops.inspect.alarms import Alarm, manage, warning


def alarms(pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """One alarm for a pool with such tasks, for a day after the last one."""
    if count := sampled.get("dead_follow_ups") or 0:
        told = "1 task has follow-ups" if count == 1 else f"{count:,} tasks have follow-ups"
        command = manage("queue", "dead-follow-ups", "--pool", pool)
        yield warning(f"Pool {pool}: {told} that could not be pushed.", f"tasks/?pool={pool}", command)
