"""Alarm and note about follow-ups that could not be pushed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from queueops.inspect.alarm import Alarm, manage, warning


def alarms(pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """One alarm for a pool with dead follow-ups, for a day after the last one."""
    if count := sampled.get("dead_follow_ups") or 0:
        command = manage("queue", "dead-follow-ups", "--pool", pool)
        reason = f" The last one: {told}" if (told := str(sampled.get("dead_follow_up_reason") or "")) else ""
        text = f"Pool {pool}: {_number(count)} could not be pushed.{reason}"
        yield warning(text, "commands?place=dead", command, key=f"follow-ups {pool}")


def notes(sampled: Mapping[str, Any]) -> Iterator[str]:
    """How many follow-ups could not be pushed, also those that have left the list."""
    if count := sampled.get("dead_follow_ups_in_an_hour") or 0:
        yield f"{_number(count)} could not be pushed in the last hour."


def _number(count: int) -> str:
    return "1 follow-up" if count == 1 else f"{count:,} follow-ups"
