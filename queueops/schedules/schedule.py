"""Schedule declaration: when a task is to run by itself, as written in its decorator or class."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings

from queueops.errors import BadOption
from queueops.model.durations import to_ms
from queueops.model.sentences import say
from queueops.schedules.cron import Timetable, read_timetable

LONGEST_JITTER_MS = 86_400_000
MOST_CAUGHT_UP = 100
CATCH_UP = re.compile(r"skip|once|all(?::([1-9]\d{0,2}))?")


class Overlap(StrEnum):
    """Run of a tick while an earlier tick's task has not ended: beside it, not at all, or after it."""

    ALLOW = "allow"
    SKIP = "skip"
    QUEUE = "queue"


@dataclass(frozen=True, slots=True)
class Schedule:
    """A cron line ("0 3 * * *", "30 0 3 * * *", "@every 10s"), and its options.

    `zone`: a name such as "Europe/Berlin", or a ZoneInfo; by default the project's TIME_ZONE. `jitter`: each run is
    delayed by a random time of up to this many seconds. `catch_up`: which missed ticks run after a time without a
    watchdog. It is "skip" (none), "once" (the last one), "all" (each, the last 100) or "all:5". `overlap`: "allow",
    "skip" or "queue". `args`, `kwargs`: the arguments of the call. Raises BadSchedule, BadZone and BadOption.
    """

    line: str
    zone: str | ZoneInfo = ""
    jitter: float | timedelta = 0
    catch_up: str = "once"
    overlap: str = Overlap.ALLOW
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.timetable()
        if self.jitter_ms > LONGEST_JITTER_MS:
            raise BadOption(name="jitter", value=self.jitter, expected=say("at most a day"))
        caught_up(self.catch_up)
        if self.overlap not in list(Overlap):
            raise BadOption(
                name="overlap", value=self.overlap, expected=say("one of %(known)s", known=", ".join(Overlap))
            )
        _check_call(self.args, self.kwargs)

    @classmethod
    def of(cls, value: Any) -> Schedule | None:
        """Make a schedule from the value of `cron=`: a line, a Schedule, or None."""
        if value is None or isinstance(value, cls):
            return value
        if not isinstance(value, str):
            raise BadOption(name="cron", value=value, expected='a line such as "0 3 * * *", or a Schedule')
        return cls(value)

    @property
    def zone_name(self) -> str:
        """The name of the time zone, by default the project's."""
        return str(self.zone) or str(settings.TIME_ZONE or "UTC")

    @property
    def jitter_ms(self) -> int:
        """The longest delay in milliseconds."""
        return to_ms("jitter", self.jitter)

    def timetable(self) -> Timetable:
        """The schedule's ticks."""
        return read_timetable(self.line, self.zone_name)


def _check_call(args: object, kwargs: object) -> None:
    """Check the call's arguments: a text, for example, would be stored as them, and no run could read it."""
    if not isinstance(args, (list, tuple)):
        raise BadOption(name="args", value=args, expected='a list or a tuple, such as ["daily"]')
    if not isinstance(kwargs, Mapping) or not all(isinstance(name, str) for name in kwargs):
        raise BadOption(name="kwargs", value=kwargs, expected='a dictionary, such as {"kind": "daily"}')


def caught_up(policy: Any) -> int:
    """How many missed runs a policy makes up for: 0 for "skip", 1 for "once". Raises BadOption."""
    match = CATCH_UP.fullmatch(policy) if isinstance(policy, str) else None
    count = (
        0 if match is None else int(match[1] or MOST_CAUGHT_UP) if policy.startswith("all") else int(policy == "once")
    )
    if match is None or count > MOST_CAUGHT_UP:
        raise BadOption(
            name="catch_up", value=policy, expected=f'"skip", "once", "all", or "all:5" (to {MOST_CAUGHT_UP})'
        )
    return count
