"""Series of the history: figures of a pool, a lane, a name, a state, an error or a worker over a range of time.

A range costs one round trip to each server, however many series are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from queueops.errors import FilterError
from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.history.ranges import (
    FIT,
    FITS_MS,
    RANGES,
    Plan,
    Range,
    Reading,
    range_between,
    range_of,
    read,
    store_ms,
)
from queueops.inspect.marks import HistoryMark, marks_of
from queueops.inspect.shared_readings import SharedReadings
from queueops.inspect.store import open_reader, pools_of
from queueops.model.history import OTHER_ERRORS, POOL, Row, following
from queueops.model.sentences import say
from queueops.redis.history_reader import HistoryQuestion

SIGNS = {"lane": "l", "name": "n", "state": "s", "error": "e", "worker": "w"}
"""What a series may be of, beside a pool: the sign that begins its key."""

ALONE = (POOL, OTHER_ERRORS)
"""The pool, and the errors that have no row of their own."""


class Point(Answer, frozen=True, kw_only=True):
    """The figures of one step of time. Without data it has zeros and None, and is not ``known``.

    Of a name or a lane ``ended`` counts runs after which no other attempt follows, of a worker all its runs. Of a state
    ``came`` and ``ended`` count the tasks that entered and left it, and ``waiting`` is the number of tasks in it.
    """

    at_ms: int  # its beginning
    known: bool = True
    came: int = 0  # tasks pushed
    ended: int = 0  # tasks that ended
    failed: int = 0  # runs that failed
    retried: int = 0  # failed runs after which another attempt follows
    attempts: int = 0  # of a pool: all its runs, also those of chunks; 0 if an older version wrote the step
    waiting: int | None = None  # ready tasks, of a pool also its ready chunks: the highest number observed
    running: int | None = None  # the highest number observed; of a worker: its slots in use
    oldest_ms: int | None = None  # age of the oldest ready task, of a state its oldest task: the highest observed
    wait_p50_ms: float | None = None
    wait_p95_ms: float | None = None
    wait_p99_ms: float | None = None
    run_p50_ms: float | None = None
    run_p95_ms: float | None = None
    run_p99_ms: float | None = None
    busy_share: float | None = None  # of a worker: how much of its slots' time was in use, 0 to 1
    memory: int | None = None  # of a worker, in bytes: the highest observed

    @property
    def failure_rate(self) -> float:
        """The share of failed runs, 0 to 1."""
        runs = self.attempts or self.ended + self.retried
        return min(1.0, self.failed / runs) if runs else 0.0


class Series(Answer, frozen=True, kw_only=True):
    """Figures over time, the oldest point first; the last one may still be open."""

    pool: str = ""  # empty: all pools
    lane: str = ""
    name: str = ""
    state: str = ""
    error: str = ""  # fingerprint
    worker: str = ""
    range: str
    step_ms: int
    points: tuple[Point, ...]
    stretches: tuple[Point, ...]  # the same in about a dozen or two longer steps, for a table
    total: Point  # of the whole range
    marks: tuple[HistoryMark, ...] = ()  # alarms, starts of workers and new versions in this time, the newest first
    counted_ms: int = 0  # how much of the last point was counted: an open step has its closed minutes alone
    ahead: int = 0  # so many points at the end are of time to come
    begins_ms: int | None = None  # the first point for which the pools have any history; None without any
    broken: tuple[Broken, ...] = ()

    @property
    def known_since_ms(self) -> int | None:
        """The beginning of the first known point; None without any."""
        return next((point.at_ms for point in self.points if point.known), None)

    @property
    def until_ms(self) -> int:
        """The end of the last point."""
        return self.points[-1].at_ms + self.step_ms

    @property
    def is_open(self) -> bool:
        """Whether only a part of the last point was counted."""
        return 0 < self.counted_ms < self.step_ms

    def seconds_of(self, point: Point) -> float:
        """For how long a point was counted: a step, of an open one the part that has rows."""
        return (self.counted_ms if self.is_open and point is self.points[-1 - self.ahead] else self.step_ms) / 1000


def series(
    range: str = "1h",
    *,
    pool: str = "",
    lane: str = "",
    name: str = "",
    state: str = "",
    error: str = "",
    worker: str = "",
    since_ms: int = 0,
    now_ms: int = 0,
    max_age_s: float = 0.0,
) -> Series:
    """The history of a pool or of all; with one of ``lane``, ``name``, ``state``, ``error``, ``worker`` of that alone.

    ``range`` is a word of RANGES, or ``fit``: a day, or an hour if nothing older than two hours is known. An ``error``
    is a fingerprint. ``now_ms`` is the end of the range; 0 means now. With ``since_ms`` it begins there, in the finest
    steps that are kept and are not too many, and ``range`` is not used. The answer may be one that this process read up
    to ``max_age_s`` seconds ago. Raises FilterError.
    """
    of = {"lane": lane, "name": name, "state": state, "error": error, "worker": worker}
    question = (range, pool, tuple(of.items()), since_ms, now_ms)
    return _SERIES.read(question, max_age_s, lambda: _series(range, pool, of, since_ms, now_ms))


def _series(word: str, pool: str, of: dict[str, str], since_ms: int, now_ms: int) -> Series:
    asked = SeriesQuestion(word, pool, **of)
    reader = open_reader()
    end_ms, pools = now_ms or store_ms(reader), pools_of(reader, pool)
    if since_ms:
        end_ms = asked.zoom(since_ms, end_ms, store_ms(reader))
    answers = read(reader, asked.questions(pools, end_ms, is_open=not now_ms))
    return asked.answer(answers, end_ms, broken_pools({}, reader.silent))


_SERIES: SharedReadings[Series] = SharedReadings()


class SeriesQuestion:
    """One series over one range; with the range FIT over two, of which the answer has one."""

    def __init__(self, word: str, pool: str = "", **of: str) -> None:
        """Check the range, and what the series is of. Raises FilterError."""
        self._ranges = [RANGES["24h"], RANGES["1h"]] if word == FIT else [range_of(word)]
        self._is_closed = False
        self._of = {"pool": pool, **of}
        found = [f"{SIGNS[what]}|{value}" for what, value in of.items() if value]
        if len(found) > 1:
            reason = say("the history has these apart, so write only one of %(names)s", names=", ".join(SIGNS))
            raise FilterError(reason=reason)
        self._key = found[0] if found else POOL

    def zoom(self, since_ms: int, until_ms: int, now_ms: int) -> int:
        """Ask between two times instead; return the end, which is that of a step. Raises FilterError."""
        until_ms = min(until_ms, now_ms)
        if since_ms >= until_ms:
            raise FilterError(reason=say("the range ends before it begins"))
        chosen = range_between(since_ms, until_ms, now_ms)
        self._ranges, level = [chosen], chosen.level
        self._is_closed = level.slot(until_ms - 1) < level.slot(now_ms)
        return (level.slot(until_ms - 1) + 1) * level.step_ms if self._is_closed else until_ms

    def questions(self, pools: Iterable[str], end_ms: int, *, is_open: bool) -> list[HistoryQuestion]:
        """What is read; ``is_open``: the range ends now."""
        keys = tuple(dict.fromkeys((self._key, *(ALONE if self._is_rare else (POOL,)))))
        wanted = dict.fromkeys(pools, keys)
        return [self._plan(each, end_ms).question(wanted, is_open) for each in self._ranges]

    @property
    def _is_rare(self) -> bool:
        """Whether a step without a row has none of it, if the pool has a row: an error does not occur all the time."""
        return bool(self._of.get("error"))

    def answer(self, readings: Sequence[Reading], end_ms: int, broken: tuple[Broken, ...] = ()) -> Series:
        """The series, from the readings of its questions."""
        longest = self._made(self._plan(self._ranges[0], end_ms), readings[0], broken)
        since = longest.known_since_ms
        if len(self._ranges) == 1 or (since is not None and longest.until_ms - since > FITS_MS):
            return longest
        return self._made(self._plan(self._ranges[1], end_ms), readings[1], broken)

    def _plan(self, chosen: Range, end_ms: int) -> Plan:
        return Plan(chosen, end_ms, is_closed=self._is_closed)

    def _made(self, plan: Plan, reading: Reading, broken: tuple[Broken, ...]) -> Series:
        rows = plan.joined([(pool, self._key) for pool in reading.rows], reading.rows)
        if self._is_rare:
            known, others = (plan.joined([(pool, key) for pool in reading.rows], reading.rows) for key in ALONE)
            rows = [row or (Row() if known[at] and not others[at] else None) for at, row in enumerate(rows)]
        of_pools = [(pool, POOL) for pool in reading.rows]
        of_stretches = [_of(tuple(rows[begin : begin + plan.range.stretch])) for begin in plan.stretches]
        return Series(
            **self._of,
            range=plan.range.word,
            step_ms=plan.range.step_ms,
            points=tuple(point_of(plan.start(number), row) for number, row in enumerate(rows)),
            stretches=tuple(
                point_of(plan.start(begin), row) for begin, row in zip(plan.stretches, of_stretches, strict=True)
            ),
            total=point_of(plan.start(0), _of(tuple(of_stretches)) or Row()),
            marks=marks_of(reading.marks, self._of.get("lane") or self._of.get("name") or ""),
            counted_ms=plan.counted_ms(of_pools, reading.rows),
            ahead=0,
            begins_ms=plan.begin(of_pools, reading.rows),
            broken=broken,
        )


@lru_cache(maxsize=256)
def _of(rows: tuple[Row | None, ...]) -> Row | None:
    """One row for several points; the next reading has the same ones but for the last ones."""
    known = [row for row in rows if row is not None]
    return following(known) if known else None


@lru_cache(maxsize=2048)
def point_of(at_ms: int, row: Row | None) -> Point:
    """The figures of a row; without one it is not known. The next reading has the same rows but for the last ones."""
    if row is None:
        return Point(at_ms=at_ms, known=False)
    wait, run = row.wait_ms(0.5, 0.95, 0.99), row.runtime_ms(0.5, 0.95, 0.99)
    return Point(
        at_ms=at_ms,
        came=row.came,
        ended=row.ended,
        failed=row.failed,
        retried=row.retried,
        attempts=row.attempts,
        waiting=_seen(row.waiting),
        running=_seen(row.running),
        oldest_ms=_seen(row.oldest_ms),
        wait_p50_ms=wait[0],
        wait_p95_ms=wait[1],
        wait_p99_ms=wait[2],
        run_p50_ms=run[0],
        run_p95_ms=run[1],
        run_p99_ms=run[2],
        busy_share=min(1.0, row.run_ms / row.able_ms) if row.able_ms else None,
        memory=_seen(row.memory),
    )


def _seen(value: int) -> int | None:
    return value if value >= 0 else None
