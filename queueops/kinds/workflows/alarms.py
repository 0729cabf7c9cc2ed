"""Alarms of workflows: runs whose decision step cannot be made; and a note of events that came too late."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from queueops.inspect.alarm import Alarm, manage, warning
from queueops.inspect.spans import span

EXCEPTION = re.compile(r"[\w.]+(?=: )")
"""The type of an exception at the beginning of a reason. Its message may hold data, and an alarm is shown to all."""


def alarms(pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """The first blocked runs of a pool, the earliest first."""
    found = sampled.get("blocked_runs") or {}
    rows = found.get("rows") or ()
    for row in rows:
        since = span(sampled["taken"] - (row.get("since") or sampled["taken"]))
        run = f"The run {row['instance'][:100]} of {row['name'][:100]}"
        text = f"{run} has been blocked for {since}: {_told(row['reason'])}"
        command = manage("queue", "run-now", row["id"], "--pool", pool)
        hint = f"why?id={quote(row['id'])}&pool={quote(pool)}"
        target = f"{pool}/{row['id']}"
        yield warning(text, hint, command, "run_now", target, key=f"blocked {target}")
    if (more := (found.get("count") or 0) - len(rows)) > 0:
        runs = "run is" if more == 1 else "runs are"
        text = f"Pool {pool}: {more:,} more {runs} blocked."
        yield warning(
            text, "workflows?state=blocked", manage("queue", "runs", "--state", "blocked"), key=f"blocked {pool}"
        )


def notes(sampled: Mapping[str, Any]) -> Iterator[str]:
    """How many events were dropped, because their run did not wait for them."""
    if count := sampled.get("late_events") or 0:
        events = "1 event of a workflow" if count == 1 else f"{count:,} events of workflows"
        yield f"{events} came too late in the last hour, and {'was' if count == 1 else 'were'} dropped."


def _told(reason: str) -> str:
    """The reason, without the message of an exception of the project."""
    found = EXCEPTION.match(reason)
    return f"a step raised {found[0]}." if found else reason
