"""Backfill: the ticks of a schedule in a past range, for runs that were missed or must come again."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from queueops.errors import BadOption
from queueops.model.sentences import say
from queueops.schedules.cron import read_timetable

MOST_RUNS = 1_000
"""Runs of one backfill."""
FIRST_YEAR, LAST_YEAR = 1971, 9998


def backfill_ticks(line: str, zone: str, since_ms: int, until_ms: int, now_ms: int) -> list[int]:
    """The ticks from one past moment to another, both included. Raises BadOption, BadSchedule and BadZone."""
    if until_ms > now_ms:
        expected = say("in the past: later ticks fire by themselves")
        raise BadOption(name="until", value=_written(until_ms, zone), expected=expected)
    if since_ms > until_ms:
        raise BadOption(name="since", value=_written(since_ms, zone), expected=say("before the end of the range"))
    ticks = read_timetable(line, zone).until(since_ms, until_ms, MOST_RUNS + 1)
    if len(ticks) > MOST_RUNS:
        expected = say(
            "earlier: a backfill has at most %(most)s runs, which is up to %(time)s",
            most=MOST_RUNS,
            time=_written(ticks[-2], zone),
        )
        raise BadOption(name="until", value=_written(until_ms, zone), expected=expected)
    return ticks


def read_time(text: str, zone: str, name: str) -> int:
    """A typed time in milliseconds; without an offset it is one of the schedule's zone. Raises BadOption."""
    try:
        moment = datetime.fromisoformat(text.strip())
        if not FIRST_YEAR <= moment.year <= LAST_YEAR:
            raise ValueError(moment.year)
        return round((moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone))).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise BadOption(name=name, value=text[:40], expected=say("a time such as 2026-11-27T03:00")) from error


def _written(ms: int, zone: str) -> str:
    return datetime.fromtimestamp(ms / 1000, ZoneInfo(zone)).isoformat(timespec="seconds")
