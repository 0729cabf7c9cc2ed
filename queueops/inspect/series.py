"""Series of the history: figures of a pool, a lane, a name or a state over a range of time.

A range costs one call for each pool, however many series are asked for, and one more for each further 1,000 steps. A
step that is still open is computed from the finer steps in it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from queueops.errors import FilterError
from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.marks import MOST as MOST_MARKS
from queueops.inspect.marks import HistoryMark, marks_of
from queueops.inspect.shared_readings import SharedReadings
from queueops.inspect.store import open_reader, pools_of
from queueops.model.history import HOUR, LEVELS, MINUTE, POOL, TEN_MINUTES, Level, Row, following, together, unpack
from queueops.redis.reader import Reader

MOST_SERIES = 200
"""Series of a pool that one call reads."""


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


class Point(Answer, frozen=True, kw_only=True):
    """The figures of one step of time. Without data it has zeros and None, and is not ``known``.

    Of a name or a lane ``ended`` counts runs after which no other attempt follows. Of a state ``came`` and ``ended``
    count the tasks that entered and left it, and ``waiting`` is the number of tasks in it.
    """

    at_ms: int  # its beginning
    known: bool = True
    came: int = 0  # tasks pushed
    ended: int = 0  # tasks that ended
    failed: int = 0  # runs that failed
    retried: int = 0  # failed runs after which another attempt follows
    waiting: int | None = None  # ready tasks: the highest number observed
    running: int | None = None  # the highest number observed
    oldest_ms: int | None = None  # age of the oldest ready task, of a state its oldest task: the highest observed
    wait_p50_ms: float | None = None
    wait_p95_ms: float | None = None
    wait_p99_ms: float | None = None
    run_p50_ms: float | None = None
    run_p95_ms: float | None = None
    run_p99_ms: float | None = None

    @property
    def failure_rate(self) -> float:
        """The share of failed runs, 0 to 1."""
        runs = self.ended + self.retried
        return min(1.0, self.failed / runs) if runs else 0.0


class Series(Answer, frozen=True, kw_only=True):
    """Figures over time, the oldest point first; the last one may still be open."""

    pool: str = ""  # empty: all pools
    lane: str = ""
    name: str = ""
    state: str = ""
    range: str
    step_ms: int
    points: tuple[Point, ...]
    stretches: tuple[Point, ...]  # the same in about a dozen or two longer steps, for a table
    total: Point  # of the whole range
    marks: tuple[HistoryMark, ...] = ()  # alarms, starts of workers and new versions in this time, the newest first
    broken: tuple[Broken, ...] = ()


class Trend(Answer, frozen=True, kw_only=True):
    """The counts of a series alone, for many series at once; each has a number for each step, the oldest first."""

    step_ms: int
    until_ms: int
    ended: tuple[int, ...]
    failed: tuple[int, ...]
    waiting: tuple[int | None, ...]


def series(
    range: str = "1h",
    *,
    pool: str = "",
    lane: str = "",
    name: str = "",
    state: str = "",
    now_ms: int = 0,
    max_age_s: float = 0.0,
) -> Series:
    """The history of a pool or of all; with ``lane``, ``name`` or ``state`` of that one alone.

    ``range`` is a word of RANGES. ``now_ms`` is the end of the range; 0 means now. The answer may be one that this
    process read up to ``max_age_s`` seconds ago. Raises FilterError.
    """
    question = (range, pool, lane, name, state, now_ms)
    return _SERIES.read(question, max_age_s, lambda: _series(*question))


def _series(range: str, pool: str, lane: str, name: str, state: str, now_ms: int) -> Series:
    chosen, key = _range(range), _key(lane, name, state)
    reader = open_reader()
    plan = _Plan(chosen, now_ms or store_ms(reader))
    found, told = plan.read_marked(reader, dict.fromkeys(pools_of(reader, pool), (key,)), is_open=not now_ms)
    rows = plan.joined([(each, key) for each in found], found)
    return Series(
        pool=pool,
        lane=lane,
        name=name,
        state=state,
        range=chosen.word,
        step_ms=chosen.step_ms,
        points=tuple(point_of(plan.start(number), row) for number, row in enumerate(rows)),
        stretches=tuple(
            point_of(plan.start(begin), _of(rows[begin : begin + chosen.stretch])) for begin in plan.stretches
        ),
        total=point_of(plan.start(0), _of(rows) or Row()),
        marks=marks_of(told, lane or name),
        broken=broken_pools({}, reader.silent),
    )


def lane_trends(
    lanes: Iterable[tuple[str, str]], range: str = "1h", *, now_ms: int = 0, max_age_s: float = 0.0
) -> dict[tuple[str, str], Trend]:
    """The trend of each of these lanes (pool, lane); at most 200 of a pool. Raises FilterError.

    The answer may be one that this process read up to ``max_age_s`` seconds ago.
    """
    question = (tuple(dict.fromkeys(lanes)), range, now_ms)
    return _LANES.read(question, max_age_s, lambda: _lane_trends(*question))


def _lane_trends(lanes: Sequence[tuple[str, str]], range: str, now_ms: int) -> dict[tuple[str, str], Trend]:
    wanted: dict[str, list[str]] = {}
    for pool, lane in lanes:
        wanted.setdefault(pool, []).append(lane)
    reader, chosen = open_reader(), _range(range)
    plan = _Plan(chosen, now_ms or store_ms(reader))
    found = plan.read(reader, {pool: [f"l|{lane}" for lane in each] for pool, each in wanted.items()})
    return {
        (pool, key.removeprefix("l|")): plan.trend([(pool, key)], found) for pool, keys in found.items() for key in keys
    }


def name_trends(
    names: Iterable[str], range: str = "1h", *, now_ms: int = 0, max_age_s: float = 0.0
) -> dict[str, Trend]:
    """The trend of each of these names, in all pools together; at most 200. Raises FilterError.

    The answer may be one that this process read up to ``max_age_s`` seconds ago.
    """
    question = (tuple(dict.fromkeys(names))[:MOST_SERIES], range, now_ms)
    return _NAMES.read(question, max_age_s, lambda: _name_trends(*question))


def _name_trends(wanted: Sequence[str], range: str, now_ms: int) -> dict[str, Trend]:
    reader, chosen = open_reader(), _range(range)
    if not wanted:
        return {}
    plan = _Plan(chosen, now_ms or store_ms(reader))
    found = plan.read(reader, dict.fromkeys(reader.pools(), tuple(f"n|{name}" for name in wanted)))
    return {name: plan.trend([(pool, f"n|{name}") for pool in found], found) for name in wanted}


_SERIES: SharedReadings[Series] = SharedReadings()
_LANES: SharedReadings[dict[tuple[str, str], Trend]] = SharedReadings()
_NAMES: SharedReadings[dict[str, Trend]] = SharedReadings()


class _Ahead(NamedTuple):
    """By how much the store's time is ahead of the monotonic clock, and when that was measured."""

    measured: float
    ms: float


CLOCK_AGE_S = 60.0
_ahead: dict[str, _Ahead] = {}
Found = Mapping[str, Mapping[str, Sequence[Row | None]]]
"""By pool and series, a row for each step that was read."""


class _Plan:
    """Which steps a range reads, and the points that they belong to."""

    def __init__(self, chosen: Range, now_ms: int) -> None:
        self._range = chosen
        level = chosen.level
        last = level.slot(now_ms) - (level is MINUTE)  # an open minute has no row
        self._first = (last // chosen.steps - chosen.points + 1) * chosen.steps
        self._steps: list[tuple[Level, int]] = []
        self._points: list[int] = []
        for slot in range(self._first, last + 1):
            parts = _parts(level, slot, now_ms) if slot == last and level is not MINUTE else ((level, slot),)
            for step in parts:
                self._steps.append(step)
                self._points.append((slot - self._first) // chosen.steps)

    @property
    def stretches(self) -> range:
        """The first point of each stretch."""
        return range(0, self._range.points, self._range.stretch)

    def start(self, point: int) -> int:
        """The beginning of a point."""
        return self._first * self._range.level.step_ms + point * self._range.step_ms

    def read(self, reader: Reader, wanted: Mapping[str, Sequence[str]]) -> Found:
        """The rows of these series, by pool."""
        return self.read_marked(reader, wanted)[0]

    def read_marked(
        self, reader: Reader, wanted: Mapping[str, Sequence[str]], is_open: bool | None = None
    ) -> tuple[Found, Mapping[str, Sequence[Sequence[bytes]]]]:
        """The same, and the marks in that time; of an open range also those after its last closed step."""
        keys = {pool: list(each)[:MOST_SERIES] for pool, each in wanted.items() if each}
        steps = [(level.word, slot) for level, slot in self._steps]
        until_ms = self.start(self._range.points)
        since_ms = self.start(0)
        span = (0, 0, 0) if is_open is None else (MOST_MARKS, since_ms, until_ms + 2 * MINUTE.step_ms * is_open - 1)
        found, told = reader.history_with_marks(steps, keys, span)
        rows = {
            pool: {
                key: [None if row[number] is None else unpack(row[number] or b"") for row in rows]
                for number, key in enumerate(keys[pool])
            }
            for pool, rows in found.items()
        }
        return rows, told

    def joined(self, of: Iterable[tuple[str, str]], found: Found) -> list[Row | None]:
        """A row for each point, of these series (pool, series) together; None without data."""
        columns = [found[pool][key] for pool, key in of]
        parts: list[list[Row]] = [[] for _ in range(self._range.points)]
        for number, point in enumerate(self._points):
            if rows := [row for column in columns if (row := column[number]) is not None]:
                parts[point].append(together(rows))
        return [following(rows) if rows else None for rows in parts]

    def trend(self, of: Iterable[tuple[str, str]], found: Found) -> Trend:
        """The counts alone."""
        rows = self.joined(of, found)
        return Trend(
            step_ms=self._range.step_ms,
            until_ms=self.start(len(rows)),
            ended=tuple(row.ended if row else 0 for row in rows),
            failed=tuple(row.failed if row else 0 for row in rows),
            waiting=tuple(_seen(row.waiting) if row else None for row in rows),
        )


def _parts(level: Level, slot: int, now_ms: int) -> Iterator[tuple[Level, int]]:
    """The closed steps of the finer levels in a step that is still open."""
    finer = LEVELS[LEVELS.index(level) - 1]
    last = finer.slot(now_ms)
    for part in range(slot * level.parts, last):
        yield finer, part
    if finer is not MINUTE:
        yield from _parts(finer, last, now_ms)


def store_ms(reader: Reader) -> int:
    """The store's time, by this process's clock; the difference is measured once a minute."""
    url, now = reader.settings.url, time.monotonic()
    found = _ahead.get(url)
    if found is None or now - found.measured > CLOCK_AGE_S:
        found = _ahead[url] = _Ahead(now, reader.now_ms() - now * 1000)
    return round(now * 1000 + found.ms)


def _of(rows: Sequence[Row | None]) -> Row | None:
    known = [row for row in rows if row is not None]
    return following(known) if known else None


def _range(word: str) -> Range:
    if word not in RANGES:
        raise FilterError(reason=f"there is no range {word!r}; write one of {', '.join(RANGES)}")
    return RANGES[word]


def _key(lane: str, name: str, state: str) -> str:
    found = [f"{sign}|{value}" for sign, value in (("l", lane), ("n", name), ("s", state)) if value]
    if len(found) > 1:
        raise FilterError(reason="the history has lanes, names and states apart: write one of lane, name and state")
    return found[0] if found else POOL


def point_of(at_ms: int, row: Row | None) -> Point:
    """The figures of a row; without one it is not known."""
    if row is None:
        return Point(at_ms=at_ms, known=False)
    wait, run = row.wait_ms(0.5, 0.95, 0.99), row.runtime_ms(0.5, 0.95, 0.99)
    return Point(
        at_ms=at_ms,
        came=row.came,
        ended=row.ended,
        failed=row.failed,
        retried=row.retried,
        waiting=_seen(row.waiting),
        running=_seen(row.running),
        oldest_ms=_seen(row.oldest_ms),
        wait_p50_ms=wait[0],
        wait_p95_ms=wait[1],
        wait_p99_ms=wait[2],
        run_p50_ms=run[0],
        run_p95_ms=run[1],
        run_p99_ms=run[2],
    )


def _seen(value: int) -> int | None:
    return value if value >= 0 else None
