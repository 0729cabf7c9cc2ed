"""When a schedule fires: a cron line of five or six fields, or `@every 10s`, in a time zone. Pure.

A time that the clock skips in spring is moved to the moment after the gap, one that comes twice in autumn counts once;
where minute or hour begin with `*`, every real minute counts. `@every` is real time, in multiples since 1970.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from queueops.errors import BadSchedule, BadZone

LONGEST_LINE, LONGEST_ZONE = 100, 64
MOST_S = 366 * 86400
EVERY = re.compile(r"@every ((?:\d{1,9}[smhd])+)")
PART = re.compile(r"(\d+)([smhd])")
NAMES = ("second", "minute", "hour", "day of month", "month", "day of week")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
FORMS = 'Write five fields ("0 3 * * *"), six with seconds first ("30 0 3 * * *"), or "@every 10s".'


class Timetable:
    """The ticks of a line in a zone, in milliseconds of the epoch."""

    __slots__ = ("_cron", "_every_ms", "_fixed_seconds", "_zone", "line", "zone")

    def __init__(self, line: str, zone: str) -> None:
        """Read a line. Raises BadSchedule and BadZone."""
        self.line = _tidy(line)
        self.zone = zone
        self._zone = _read_zone(zone)
        self._every_ms = 0
        self._cron = NICKNAMES.get(self.line.lower(), self.line)
        self._fixed_seconds: tuple[int, ...] = (0,)
        if self.line.lower().startswith("@every"):
            self._every_ms = _read_every(self.line)
        else:
            self._read_cron()
        if self.after(0) is None:
            raise BadSchedule(line=self.line, reason="no such date ever comes.")

    def after(self, ms: int) -> int | None:
        """The first tick after a moment; None when there is none."""
        return next(self.ticks(ms), None)

    def ticks(self, after_ms: int) -> Iterator[int]:
        """All ticks after a moment, in order."""
        if self._every_ms:
            tick = after_ms - after_ms % self._every_ms
            while True:
                tick += self._every_ms
                yield tick
        last = after_ms
        for minute in CronSim(self._cron, self._begin(after_ms)):
            for second in self._fixed_seconds:
                tick = round(minute.timestamp()) * 1000 + second * 1000
                if tick > last:
                    last = tick
                    yield tick

    def until(self, first_ms: int, last_ms: int, most: int) -> list[int]:
        """The ticks from one moment to another, both included, at most the first `most`."""
        return list(islice(takewhile(lambda tick: tick <= last_ms, self.ticks(first_ms - 1)), most))

    def latest(self, first_ms: int, last_ms: int, count: int) -> list[int]:
        """The last `count` ticks from one moment to another, however many there are between them."""
        window = 100_000
        while True:
            begin = max(first_ms, last_ms - window)
            found = list(takewhile(lambda tick: tick <= last_ms, self.ticks(begin - 1)))
            if len(found) >= count or begin == first_ms:
                return found[-count:]
            window *= 2

    def _begin(self, after_ms: int) -> datetime:
        """Where to look from: the minute of the moment too, where seconds are added to whole minutes."""
        early = 60 if self._fixed_seconds != (0,) else 0
        return datetime.fromtimestamp(max(0, after_ms // 1000 - early), UTC).astimezone(self._zone)

    def _read_cron(self) -> None:
        """The line is checked; one with a fixed minute and hour is split into its minutes and its seconds, for only
        lines of five fields are moved out of the gap of spring.
        """
        try:
            read = CronSim(self._cron, datetime.fromtimestamp(0, UTC))
        except (CronSimError, ValueError, AssertionError) as error:
            raise BadSchedule(line=self.line, reason=f"{_reason(str(error), self.line)}. {FORMS}") from error
        fields = self._cron.split()
        if len(fields) == 6 and not fields[1].startswith("*") and not fields[2].startswith("*"):
            self._cron = " ".join(fields[1:])
            self._fixed_seconds = tuple(sorted(read.seconds))


def _reason(error: str, line: str) -> str:
    """What the parser says, with the value that it is about."""
    fields, name = line.split(), error.removeprefix("Bad ").replace("-", " ")
    if line.startswith("@"):
        return f"there is no {fields[0]}, but {', '.join(NICKNAMES)} and @every"
    if len(fields) not in (5, 6):
        return f"it has {len(fields)} field{'s' if len(fields) > 1 else ''}"
    if name not in NAMES:
        return error or "it is no cron line"
    never = " that ever comes" if name == "day of month" else ""
    return f"{fields[NAMES.index(name) - len(NAMES)]!r} is no {name}{never}"


@lru_cache(maxsize=1024)
def read_timetable(line: str, zone: str) -> Timetable:
    """The timetable of a line in a zone. Raises BadSchedule and BadZone."""
    return Timetable(line, zone)


def _tidy(line: object) -> str:
    if not isinstance(line, str) or not line.strip():
        raise BadSchedule(line=line, reason=f"it is {'empty' if isinstance(line, str) else 'no text'}. {FORMS}")
    if len(line) > LONGEST_LINE:
        raise BadSchedule(line=line[:LONGEST_LINE], reason=f"it is longer than {LONGEST_LINE} characters.")
    return " ".join(line.split())


def _read_every(line: str) -> int:
    match = EVERY.fullmatch(line.lower())
    if match is None:
        raise BadSchedule(line=line, reason='write "@every" and a duration in s, m, h or d, such as "@every 1h30m".')
    seconds = sum(int(number) * UNITS[unit] for number, unit in PART.findall(match[1]))
    if not 1 <= seconds <= MOST_S:
        raise BadSchedule(line=line, reason="the interval must be from 1 second to 366 days.")
    return seconds * 1000


def _read_zone(zone: object) -> ZoneInfo:
    if not isinstance(zone, str) or not 0 < len(zone) <= LONGEST_ZONE:
        raise BadZone(zone=str(zone)[:LONGEST_ZONE])
    try:
        return ZoneInfo(zone)
    except (ValueError, LookupError, OSError) as error:  # also a directory of the time zone database
        raise BadZone(zone=zone) from error
