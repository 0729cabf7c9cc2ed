"""Alarms of workflows: runs whose decision step cannot be made; and a note of events that came too late."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from queueops.inspect.alarm import Alarm, manage, warning
from queueops.inspect.spans import span
from queueops.model.sentences import Sentence, say, say_n
from queueops.model.stored_sentences import Stored

EXCEPTION = re.compile(r"[\w.]+(?=: )")
"""The type of an exception at the beginning of a reason. Its message may hold data, and an alarm is shown to all."""


def alarms(pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """The first blocked runs of a pool, the earliest first."""
    found = sampled.get("blocked_runs") or {}
    rows = found.get("rows") or ()
    for row in rows:
        text = say(
            "The run %(id)s of %(name)s has been blocked for %(time)s and needs a deploy: %(reason)s",
            id=row["instance"][:100],
            name=row["name"][:100],
            time=span(sampled["taken"] - (row.get("since") or sampled["taken"])),
            reason=_told(row["reason"]),
        )
        command = manage("queue", "run-now", row["id"], "--pool", pool)
        hint = f"why?id={quote(row['id'])}&pool={quote(pool)}"
        target = f"{pool}/{row['id']}"
        yield warning(text, hint, command, "run_now", target, key=f"blocked {target}")
    if (more := (found.get("count") or 0) - len(rows)) > 0:
        text = say_n(
            "Pool %(pool)s: %(n)s more run is blocked.",
            "Pool %(pool)s: %(n)s more runs are blocked.",
            more,
            pool=pool,
        )
        yield warning(
            text, "workflows?state=blocked", manage("queue", "runs", "--state", "blocked"), key=f"blocked {pool}"
        )


def notes(sampled: Mapping[str, Any]) -> Iterator[Sentence]:
    """How many events were dropped, because their run did not wait for them."""
    if count := sampled.get("late_events") or 0:
        yield say_n(
            "%(n)s event of a workflow came too late in the last hour, and was dropped.",
            "%(n)s events of workflows came too late in the last hour, and were dropped.",
            count,
        )


def _told(reason: str) -> str:
    """The reason, without the message of an exception of the project."""
    found = EXCEPTION.match(reason)
    return say("a step raised %(error)s.", error=found[0]) if found else Stored(reason)
