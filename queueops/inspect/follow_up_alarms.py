"""Alarm and note about follow-ups that could not be pushed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from queueops.inspect.alarm import Alarm, manage, warning
from queueops.model.sentences import Sentence, join, say, say_n
from queueops.model.stored_sentences import Stored


def alarms(pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """One alarm for a pool with dead follow-ups, for a day after the last one."""
    if count := sampled.get("dead_follow_ups") or 0:
        command = manage("queue", "dead-follow-ups", "--pool", pool)
        text = say_n(
            "Pool %(pool)s: %(n)s follow-up could not be pushed.",
            "Pool %(pool)s: %(n)s follow-ups could not be pushed.",
            count,
            pool=pool,
        )
        if told := str(sampled.get("dead_follow_up_reason") or ""):
            text = join(text, say("The last one: %(error)s", error=Stored(told)))
        yield warning(text, "commands?place=dead", command, key=f"follow-ups {pool}")


def notes(sampled: Mapping[str, Any]) -> Iterator[Sentence]:
    """How many follow-ups could not be pushed, also those that have left the list."""
    if count := sampled.get("dead_follow_ups_in_an_hour") or 0:
        yield say_n(
            "%(n)s follow-up could not be pushed in the last hour.",
            "%(n)s follow-ups could not be pushed in the last hour.",
            count,
        )
