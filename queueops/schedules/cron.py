"""Cron expression: when a schedule fires, by five or six fields, or `@every 10s`, in a time zone. Pure.

A time that the clock skips in spring is moved to the moment after the gap. A time that comes twice in autumn counts
once. If minute or hour begin with `*`, every real minute counts. `@every` is real time, in multiples since 1970.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from queueops.errors import BadSchedule, BadZone
from queueops.model.sentences import join, say, say_n

LONGEST_LINE, LONGEST_ZONE = 100, 64
MOST_S = 366 * 86400
MINUTE = timedelta(minutes=1)
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
FORMS = say('Write five fields ("0 3 * * *"), six with seconds first ("30 0 3 * * *"), or "@every 10s".')


class Timetable:
    """The ticks of an expression in a time zone, in milliseconds of the epoch."""

    __slots__ = ("_cron", "_every_ms", "_is_fixed", "_zone", "line", "zone")

    def __init__(self, line: str, zone: str) -> None:
        """Parse an expression. Raises BadSchedule and BadZone."""
        self.line = _tidy(line)
        self.zone = zone
        self._zone = _read_zone(zone)
        self._every_ms = 0
        self._cron = NICKNAMES.get(self.line.lower(), self.line)
        self._is_fixed = False
        if self.line.lower().startswith("@every"):
            self._every_ms = _read_every(self.line)
        else:
            self._read_cron()
        if self.after(0) is None:
            raise BadSchedule(line=self.line, reason=say("no such date ever comes."))

    def after(self, ms: int) -> int | None:
        """The first tick after a moment; None if there is none."""
        return next(self.ticks(ms), None)

    def ticks(self, after_ms: int) -> Iterator[int]:
        """All ticks after a moment, in order."""
        if self._every_ms:
            tick = after_ms - after_ms % self._every_ms
            while True:
                tick += self._every_ms
                yield tick
        last = after_ms
        for tick in self._moments(after_ms):
            if tick > last:
                last = tick
                yield tick

    def until(self, first_ms: int, last_ms: int, most: int) -> list[int]:
        """The ticks from one moment to another, both included; at most the first `most`."""
        return list(islice(takewhile(lambda tick: tick <= last_ms, self.ticks(first_ms - 1)), most))

    def latest(self, first_ms: int, last_ms: int, count: int) -> list[int]:
        """The last `count` ticks from one moment to another, however many lie between them."""
        window = 100_000
        while True:
            begin = max(first_ms, last_ms - window)
            found = list(takewhile(lambda tick: tick <= last_ms, self.ticks(begin - 1)))
            if len(found) >= count or begin == first_ms:
                return found[-count:]
            window *= 2

    def _moments(self, after_ms: int) -> Iterator[int]:
        """When clocks of the time zone show the expression's times, in order; some moments may be a little too early.

        The expression is evaluated on a clock without changes. The parser cannot do that for a time zone. If a change
        is not one of full hours, it goes back in time endlessly.
        """
        again: list[int] = []  # of the repeated hour: its second pass begins when the first one is over
        for shown in CronSim(self._cron, self._begin(after_ms)):
            first, second = self._real(shown)
            while again and first is not None and again[0] <= first:
                yield again.pop(0)
            if first is not None:
                yield first
            if second is not None:
                again.append(second)
        yield from again

    def _real(self, shown: datetime) -> tuple[int | None, int | None]:
        """The moments at which clocks show this: one, two in autumn, none in spring."""
        first, second = _moment(shown, self._zone, 0), _moment(shown, self._zone, 1)
        if first == second:
            return first, None
        if first < second:
            return first, None if self._is_fixed else second
        return self._after_gap(shown) if self._is_fixed else None, None

    def _after_gap(self, shown: datetime) -> int:
        minute = shown.replace(second=0)
        while _moment(minute, self._zone, 0) > _moment(minute, self._zone, 1):
            minute += MINUTE
        return _moment(minute, self._zone, 0) + shown.second * 1000

    def _begin(self, after_ms: int) -> datetime:
        """What clocks show at that moment, or an hour earlier, which they may show again."""
        begin = datetime.fromtimestamp(max(0, after_ms // 1000), UTC).astimezone(self._zone)
        shown = begin.replace(tzinfo=None, fold=0)
        if begin.fold or self._is_fixed:
            return shown
        return shown - timedelta(milliseconds=max(0, _moment(shown, self._zone, 1) - _moment(shown, self._zone, 0)))

    def _read_cron(self) -> None:
        try:
            CronSim(self._cron, datetime.fromtimestamp(0, UTC))
        except (CronSimError, ValueError, AssertionError) as error:
            reason = say("%(reason)s. %(advice)s", reason=_reason(str(error), self.line), advice=FORMS)
            raise BadSchedule(line=self.line, reason=reason) from error
        minute, hour = self._cron.split()[-5:-3]
        self._is_fixed = not minute.startswith("*") and not hour.startswith("*")


def _moment(shown: datetime, zone: ZoneInfo, fold: int) -> int:
    return round(shown.replace(tzinfo=zone, fold=fold).timestamp()) * 1000


def _reason(error: str, line: str) -> str:
    """The parser's message, with the value that it is about."""
    fields, name = line.split(), error.removeprefix("Bad ").replace("-", " ")
    if line.startswith("@"):
        known = ", ".join(NICKNAMES)
        return say("there is no %(word)s, but %(known)s and @every", word=fields[0], known=known)
    if len(fields) not in (5, 6):
        return say_n("it has %(n)s field", "it has %(n)s fields", len(fields))
    if name not in NAMES:
        return error or say("it is not a cron line")
    value = repr(fields[NAMES.index(name) - len(NAMES)])
    if name == "day of month":
        return say("%(value)s is not a valid %(field)s, or no month has it", value=value, field=name)
    return say("%(value)s is not a valid %(field)s", value=value, field=name)


@lru_cache(maxsize=1024)
def read_timetable(line: str, zone: str) -> Timetable:
    """The timetable of an expression in a time zone. Raises BadSchedule and BadZone."""
    return Timetable(line, zone)


def _tidy(line: object) -> str:
    if not isinstance(line, str) or not line.strip():
        what = say("it is empty.") if isinstance(line, str) else say("it is not text.")
        raise BadSchedule(line=line, reason=join(what, FORMS))
    if len(line) > LONGEST_LINE:
        reason = say("it is longer than %(most)s characters.", most=str(LONGEST_LINE))
        raise BadSchedule(line=line[:LONGEST_LINE], reason=reason)
    return " ".join(line.split())


def _read_every(line: str) -> int:
    match = EVERY.fullmatch(line.lower())
    if match is None:
        reason = say('write "@every" and a duration in s, m, h or d, such as "@every 1h30m".')
        raise BadSchedule(line=line, reason=reason)
    seconds = sum(int(number) * UNITS[unit] for number, unit in PART.findall(match[1]))
    if not 1 <= seconds <= MOST_S:
        raise BadSchedule(line=line, reason=say("the interval must be from 1 second to 366 days."))
    return seconds * 1000


def _read_zone(zone: object) -> ZoneInfo:
    if not isinstance(zone, str) or not 0 < len(zone) <= LONGEST_ZONE:
        raise BadZone(zone=str(zone)[:LONGEST_ZONE])
    try:
        return ZoneInfo(zone)
    except (ValueError, LookupError, OSError) as error:  # also a directory of the time zone database
        raise BadZone(zone=zone) from error
