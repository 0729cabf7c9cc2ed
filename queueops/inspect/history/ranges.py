"""History ranges: which steps a range of time reads, and the points that they belong to.

Several ranges are read in one round trip to each server.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from queueops.errors import FilterError
from queueops.inspect.marks import MOST as MOST_MARKS
from queueops.model.history import HOUR, LEVELS, MINUTE, TEN_MINUTES, Level, Row, following, together, unpack
from queueops.model.sentences import say
from queueops.redis.history_reader import HistoryQuestion, read_histories
from queueops.redis.reader import Reader

MOST_SERIES = 200
"""Series of a pool that one question reads."""
FIT = "fit"
"""The word of the range that fits what is known: a day, or an hour if nothing older than FITS_MS is known."""
FITS_MS = 2 * 3_600_000


class Range(NamedTuple):
    """A range of time that ends now: its points, each of so many steps of a level. Some points make a stretch."""

    word: str
    level: Level
    points: int
    stretch: int
    steps: int = 1

    @property
    def step_ms(self) -> int:
        """The length of a point."""
        return self.level.step_ms * self.steps


RANGES = {
    each.word: each
    for each in (
        Range("1h", MINUTE, 60, 5),
        Range("24h", TEN_MINUTES, 144, 6),
        Range("14d", HOUR, 336, 24),
        Range("48h", MINUTE, 2880, 120),
        Range("13mo", HOUR, 396, 33, 24),
    )
}
"""The ranges by word."""


def range_of(word: str) -> Range:
    """The range of this word. Raises FilterError."""
    if word not in RANGES:
        values = {"word": repr(word), "ranges": ", ".join(RANGES)}
        raise FilterError(reason=say("there is no range %(word)s; write one of %(ranges)s", **values))
    return RANGES[word]


ZOOM = "zoom"
MOST_POINTS, LEAST_POINTS = 400, 10
"""How many points a range between two times has."""


def range_between(since_ms: int, until_ms: int, now_ms: int) -> Range:
    """The range between two times, in the finest steps that are still kept and are not too many."""
    for level in LEVELS:
        points = level.slot(until_ms - 1) - level.slot(since_ms) + 1
        if now_ms - since_ms < level.kept_s * 1000 and points <= MOST_POINTS:
            break
    points = min(max(points, LEAST_POINTS), HOUR.kept_s)
    steps = -(-points // MOST_POINTS)
    points = -(-points // steps)
    return Range(ZOOM, level, points, max(1, points // 12), steps)


Found = Mapping[str, Mapping[str, Sequence[Row | None]]]
"""By pool and series, a row for each step that was read."""


class Reading(NamedTuple):
    """What was read for one range: rows, and by pool the marks as the store has them."""

    rows: Found
    marks: Mapping[str, Sequence[Sequence[bytes]]]


class Plan:
    """Which steps a range reads, and the points that they belong to.

    A step that is still open is computed from the closed finer steps in it. An open minute has no row.
    """

    def __init__(self, chosen: Range, now_ms: int, *, is_closed: bool = False) -> None:
        """The range ends at a time; ``is_closed``: with a step that has ended and is kept as a whole."""
        self.range = chosen
        level = chosen.level
        last = level.slot(now_ms - 1) if is_closed else level.slot(now_ms) - (level is MINUTE)
        self._first = (last // chosen.steps - chosen.points + 1) * chosen.steps
        self._steps: list[tuple[Level, int]] = []
        self._points: list[int] = []
        for slot in range(self._first, last + 1):
            is_open = slot == last and level is not MINUTE and not is_closed
            parts = _parts(level, slot, now_ms) if is_open else ((level, slot),)
            for step in parts:
                self._steps.append(step)
                self._points.append((slot - self._first) // chosen.steps)
        self._is_plain = self._points == list(range(chosen.points))

    @property
    def stretches(self) -> range:
        """The first point of each stretch."""
        return range(0, self.range.points, self.range.stretch)

    def start(self, point: int) -> int:
        """The beginning of a point."""
        return self._first * self.range.level.step_ms + point * self.range.step_ms

    def question(self, wanted: Mapping[str, Sequence[str]], is_open: bool | None = None) -> HistoryQuestion:
        """What is asked about these series by pool.

        ``is_open`` asks for the marks of that time, too; of an open range also for those after its last closed step.
        """
        until_ms = self.start(self.range.points) + 2 * MINUTE.step_ms * bool(is_open) - 1
        span = (0, 0, 0) if is_open is None else (MOST_MARKS, self.start(0), until_ms)
        series = {pool: tuple(each)[:MOST_SERIES] for pool, each in wanted.items()}
        return HistoryQuestion([(level.word, slot) for level, slot in self._steps], series, span)

    def joined(self, of: Iterable[tuple[str, str]], found: Found) -> list[Row | None]:
        """A row for each point, of these series (pool, series) together; None without data."""
        columns = [found[pool][key] for pool, key in of]
        if self._is_plain and len(columns) == 1:  # each step is a point, as in an hour: hundreds of small charts
            return list(columns[0])
        parts: list[list[Row]] = [[] for _ in range(self.range.points)]
        for number, point in enumerate(self._points):
            if rows := [row for column in columns if (row := column[number]) is not None]:
                parts[point].append(together(rows))
        return [following(rows) if rows else None for rows in parts]

    def begin(self, of: Iterable[tuple[str, str]], found: Found) -> int | None:
        """The beginning of the first point with data of one of these series; None without any."""
        columns = [found[pool][key] for pool, key in of]
        first = (next((at for at, row in enumerate(rows) if row is not None), None) for rows in columns)
        known = [self._points[at] for at in first if at is not None]
        return self.start(min(known)) if known else None

    def counted_ms(self, of: Iterable[tuple[str, str]], found: Found) -> int:
        """How much of the last point has rows of one of these series; 0 without any."""
        columns = [found[pool][key] for pool, key in of]
        ends = (
            (slot + 1) * level.step_ms
            for number, (level, slot) in enumerate(self._steps)
            if self._points[number] == self.range.points - 1 and any(rows[number] is not None for rows in columns)
        )
        begin = self.start(self.range.points - 1)
        return max(ends, default=begin) - begin


def read(reader: Reader, questions: Sequence[HistoryQuestion]) -> list[Reading]:
    """The readings of several ranges, in one round trip to each server."""
    return [
        Reading({pool: _columns(question.series[pool], rows) for pool, rows in answer.rows.items()}, answer.marks)
        for question, answer in zip(questions, read_histories(reader, questions), strict=True)
    ]


def _columns(series: Sequence[str], rows: Sequence[Sequence[bytes | None]]) -> dict[str, list[Row | None]]:
    return {
        key: [None if row[number] is None else unpack(row[number] or b"") for row in rows]
        for number, key in enumerate(series)
    }


def _parts(level: Level, slot: int, now_ms: int) -> Iterator[tuple[Level, int]]:
    """The closed steps of the finer levels in a step that is still open."""
    finer = LEVELS[LEVELS.index(level) - 1]
    last = finer.slot(now_ms)
    for part in range(slot * level.parts, last):
        yield finer, part
    if finer is not MINUTE:
        yield from _parts(finer, last, now_ms)


class _Ahead(NamedTuple):
    """By how much the store's time is ahead of the monotonic clock, and when that was measured."""

    measured: float
    ms: float


CLOCK_AGE_S = 60.0
_ahead: dict[str, _Ahead] = {}


def store_ms(reader: Reader) -> int:
    """The store's time, by this process's clock; the difference is measured once a minute."""
    url, now = reader.settings.url, time.monotonic()
    found = _ahead.get(url)
    if found is None or now - found.measured > CLOCK_AGE_S:
        found = _ahead[url] = _Ahead(now, reader.now_ms() - now * 1000)
    return round(now * 1000 + found.ms)
