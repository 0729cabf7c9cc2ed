"""Cron monitors: a run of a schedule is a check-in. Sentry learns a schedule of the code with its first one.

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

_RUN = re.compile(r"(.+)@\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_NO_SLUG = re.compile(r"[^a-z0-9_-]+")
LONGEST_SLUG = 50


def begin(context: Any) -> None:
    """Tell that a run began, with its schedule."""
    if context.attempt == 1:
        end(context, "in_progress")


def end(context: Any, status: str) -> None:
    """Tell how a run stands."""
    run = _RUN.fullmatch(context.id) if context.lease.kind == "task" else None
    if run is None or not conf.current().sentry.monitors:
        return
    id = run[1]
    schedule = getattr(context.task, "schedule", None) if id == context.lease.name else None
    capture_checkin(
        monitor_slug=_NO_SLUG.sub("-", id.lower()).strip("-")[:LONGEST_SLUG],
        check_in_id=uuid.uuid5(uuid.NAMESPACE_OID, f"{context.lease.uid} {context.id}").hex,
        status=status,
        monitor_config=None if schedule is None else _config(schedule),
    )


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
