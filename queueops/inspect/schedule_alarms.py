"""Alarms of schedules: those that do not fire, paused ones whose next run was due since, and unreadable ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from queueops.inspect.alarm import CHECK, Alarm, manage, no_watchdog, warning
from queueops.inspect.spans import span
from queueops.model.sentences import Sentence, say, say_n

LEAST_SKIPPED, LEAST_RUN_MS = 3, 10_000
"""A run hangs if so many ticks were skipped because of it, and it has lasted for so long."""


def alarms(pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """One alarm if the schedules of a pool do not fire, and one for each that misses runs."""
    if (count := sampled.get("schedules") or 0) and (told := no_watchdog(pool, sampled)):
        text = say("%(watchdog)s, so %(schedules)s.", watchdog=told, schedules=_not_firing(count))
        yield warning(text, "schedules", manage("watchdog"), key="schedules")
    elif late := sampled.get("late_schedules"):
        id, age = str(late["id"]), sampled["taken"] - int(late["due"])
        text = say(
            "Pool %(pool)s: %(schedules)s. %(id)s has been due for %(age)s. The store may be full, or the log of the"
            " watchdog has the reason.",
            pool=pool,
            schedules=_not_firing(int(late["count"])),
            id=id[:100],
            age=span(age),
        )
        yield warning(text, "schedules", CHECK, key=f"schedules {pool}")
    yield from _skipping(pool, sampled)
    for row in sampled.get("broken_schedules") or ():
        id, reason = str(row["id"]), str(row["reason"])
        command = manage("queue", "schedule", id, "delete", "--pool", pool)
        text = say("Schedule %(id)s of pool %(pool)s has stopped: %(reason)s", id=id[:100], pool=pool, reason=reason)
        yield warning(text, "schedules", command, key=f"broken-schedule {pool}/{id}")
    for row in sampled.get("paused_schedules") or ():
        id, age = str(row["id"]), sampled["taken"] - int(row["due"])
        if age > 0:
            text = say(
                "Schedule %(id)s of pool %(pool)s is paused and has missed runs, the first %(age)s ago.",
                id=id[:100],
                pool=pool,
                age=span(age),
            )
            command = manage("queue", "schedule", id, "resume", "--pool", pool)
            yield warning(
                text, "schedules", command, "resume_schedule", f"{pool}/{id}", key=f"paused-schedule {pool}/{id}"
            )


def _skipping(pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """Schedules whose run goes on and on, so that one tick after the other is skipped."""
    for row in sampled.get("skipping_schedules") or ():
        id, task, count, since = str(row["id"]), str(row["task"]), int(row["count"]), int(row["since"])
        if count >= LEAST_SKIPPED and sampled["taken"] - since > LEAST_RUN_MS:
            text = say(
                "Schedule %(id)s of pool %(pool)s has skipped %(runs)s runs: its task %(task)s has not ended for"
                " %(age)s.",
                id=id[:100],
                pool=pool,
                runs=count,
                task=task[:100],
                age=span(sampled["taken"] - since),
            )
            hint, target = f"why?id={quote(task)}&pool={quote(pool)}", f"{pool}/{task}"
            command = manage("queue", "cancel", task, "--hard", "--pool", pool)
            key = f"skipping {pool}/{id}"
            yield warning(text, hint, command, "interrupt", target, key=key, since_ms=since)


def _not_firing(count: int) -> Sentence:
    return say_n("%(n)s schedule does not fire", "%(n)s schedules do not fire", count)
