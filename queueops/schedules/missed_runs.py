"""Missed-run policy: what a schedule does about a due tick and about missed ticks. Pure."""

from __future__ import annotations

from queueops.schedules.definition import Firing, ScheduleDefinition
from queueops.schedules.schedule import caught_up

LATE_MS = 15_000
"""Under `skip`, the latest tick still runs if it is at most this late; a watchdog's restart takes less.

The watchdog also detects a clock that was set back by this much.
"""
COUNTED = 1000
"""Missed ticks are counted up to this number."""


def firing(definition: ScheduleDefinition, due_ms: int, now_ms: int) -> Firing:
    """The runs for all ticks from the due one until now, by the policy, and the next tick.

    Raises BadOption for an unknown policy.
    """
    timetable, wanted = definition.timetable(), caught_up(definition.catch_up)
    ticks = [due_ms, *timetable.until(due_ms + 1, now_ms, COUNTED - 1)]
    last = ticks[-max(1, wanted) :] if len(ticks) < COUNTED else timetable.latest(due_ms, now_ms, max(1, wanted))
    runs = last if wanted or now_ms - last[-1] <= LATE_MS else []
    return Firing(runs, len(ticks) - len(runs), timetable.after(now_ms))
