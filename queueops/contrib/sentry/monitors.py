"""Cron monitors: a run of a schedule of the code is a check-in. Sentry learns the schedule with its first one.

A run that is tried again is one check-in, from its first attempt to its end. So Sentry alone notices a missed run.
"""

from __future__ import annotations

import re
import uuid
from typing import Any

from sentry_sdk.crons import capture_checkin

from queueops import conf
from queueops.errors import QueueOpsError
from queueops.schedules.cron import NICKNAMES

_TICK = re.compile(r"@\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_NO_SLUG = re.compile(r"[^a-z0-9_-]+")
LONGEST_SLUG = 50


def begin(context: Any) -> None:
    """Tell that a run began, with its schedule."""
    if context.attempt == 1:
        end(context, "in_progress")


def end(context: Any, status: str) -> None:
    """Tell how a run stands."""
    schedule = getattr(context.task, "schedule", None)
    if schedule is None or not _is_run(context) or not conf.current().sentry.monitors:
        return
    name = context.lease.name
    capture_checkin(
        monitor_slug=_NO_SLUG.sub("-", name.lower()).strip("-")[:LONGEST_SLUG],
        check_in_id=uuid.uuid5(uuid.NAMESPACE_OID, f"{context.lease.uid} {context.id}").hex,
        status=status,
        monitor_config=_config(schedule),
    )


def _is_run(context: Any) -> bool:
    """Whether a schedule has made this task: its id is the task's name and a tick."""
    id, name = context.id, context.lease.name
    return context.lease.kind == "task" and id.startswith(name) and bool(_TICK.fullmatch(id[len(name) :]))


def _config(schedule: Any) -> Any:
    """The schedule in Sentry's words; None if it has seconds or other words that Sentry does not know."""
    try:
        timetable = schedule.timetable()
    except QueueOpsError:
        return None
    line = NICKNAMES.get(timetable.line.lower(), timetable.line)
    if len(line.split()) != 5:
        return None
    return {"schedule": {"type": "crontab", "value": line}, "timezone": timetable.zone}
