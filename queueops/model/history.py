"""History of a pool: figures by step of time, for the pool, its states, lanes, names, error groups and workers.

A worker counts into the hash of the minute. The watchdog rolls closed minutes up to rows: one for each minute, then for
ten minutes, then for an hour. A row is a MessagePack array of about 40 to 120 bytes, with mergeable histograms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import msgspec

from queueops.model.histogram import percentiles
from queueops.model.states import TERMINAL, State

MOST_LANES, MOST_NAMES, MOST_ERRORS, MOST_WORKERS = 50, 100, 50, 50
"""Series of each sort with rows of their own in a step of time. All others are summed in one row of each sort."""
POOL, OTHER_LANES, OTHER_NAMES, OTHER_ERRORS, OTHER_WORKERS = "p", "l", "n", "e", "w"
"""The series of the whole pool; of all lanes, names, errors, workers that have no row of their own."""
CAPS = {OTHER_LANES: MOST_LANES, OTHER_NAMES: MOST_NAMES, OTHER_ERRORS: MOST_ERRORS, OTHER_WORKERS: MOST_WORKERS}
"""How many series have rows of their own, by the sign that begins their names; the sign alone is all others."""


class Level(NamedTuple):
    """One resolution. ``slot`` is the number of a step since the epoch."""

    word: str
    step_ms: int
    kept_s: int
    """How long a step is kept."""
    parts: int
    """Steps of the finer level in one step of this one; of the finest level: 1."""

    def slot(self, ms: int) -> int:
        """The step of a time."""
        return ms // self.step_ms

    @property
    def mark(self) -> str:
        """The field of the pool's clock that holds the last step rolled up."""
        return f"h{self.word}"


MINUTE = Level("1m", 60_000, 48 * 3600, 1)
TEN_MINUTES = Level("10m", 600_000, 14 * 86_400, 10)
HOUR = Level("1h", 3_600_000, 396 * 86_400, 6)
LEVELS = (MINUTE, TEN_MINUTES, HOUR)
"""From fine to coarse; each is rolled up from the one before."""
RAW_KEPT_S = 6 * 3600
"""How long the counters of a minute are kept after their roll-up. A clock set back by less loses no count."""

Flat = tuple[int, ...]
Rows = dict[str, "Row"]


class Row(msgspec.Struct, array_like=True, frozen=True):
    """The figures of one series in one step. New fields come last: an older row has their defaults.

    Of a step longer than a minute, ``waiting``, ``running`` and ``oldest_ms`` are the highest values observed. They are
    -1 where none was observed. Those of a pool include chunks.
    """

    came: int = 0  # tasks pushed; of a state: tasks that entered it
    ended: int = 0  # tasks ended; of a name or a lane: runs that were not the last attempt's retry; of a state: left it
    failed: int = 0  # runs that ended in an error, a timeout or a crash
    retried: int = 0  # those of them after which another attempt follows
    waiting: int = -1
    running: int = -1
    oldest_ms: int = -1  # age of the oldest waiting task
    run_ms: int = 0  # sum of the run times
    waits: Flat = ()  # histogram: bucket, count, bucket, count, ...
    runs: Flat = ()
    able_ms: int = 0  # of a worker: the time of all its slots, of which ``run_ms`` were in use
    memory: int = -1  # of a worker, in bytes: the highest observed
    attempts: int = 0  # of a pool: all its runs, also those of chunks; 0 in rows of older versions

    @property
    def weight(self) -> int:
        """How much the series counts when only some can have a row of their own."""
        return self.came + self.ended + self.failed + max(0, self.waiting) + max(0, self.running)

    @property
    def events(self) -> int:
        """What is counted; it only grows while a minute is open."""
        return self.came + self.ended + self.failed

    def wait_ms(self, *quantiles: float) -> list[float | None]:
        """Quantiles of the time from ready to start; None if nothing started."""
        return percentiles(_counter(self.waits), *quantiles)

    def runtime_ms(self, *quantiles: float) -> list[float | None]:
        """Quantiles of the run time; None if nothing ran."""
        return percentiles(_counter(self.runs), *quantiles)


_encode, _decoder = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(Row)
_DEFAULTS = msgspec.structs.astuple(Row())


def pack(row: Row) -> bytes:
    """A row as it is stored: without the last fields that have their defaults, as a store keeps short values small."""
    values = msgspec.structs.astuple(row)
    size = max((at for at, value in enumerate(values, 1) if value != _DEFAULTS[at - 1]), default=0)
    return _encode(values[:size])


def unpack(data: bytes) -> Row | None:
    """A stored row; None if it is unreadable."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, ValueError):
        return None


def following(rows: Iterable[Row]) -> Row:
    """One row for several steps that follow each other: counts are added, observed values are the highest."""
    return _combined(list(rows), max)


def together(rows: Iterable[Row]) -> Row:
    """One row for several series of the same step: counts and observed values are added; the oldest is the oldest."""
    return _combined(list(rows), lambda found: sum([each for each in found if each >= 0]) if max(found) >= 0 else -1)


def _combined(rows: list[Row], observed: Callable[[Sequence[int]], int]) -> Row:
    if len(rows) <= 1:
        return rows[0] if rows else Row()
    columns = zip(*map(msgspec.structs.astuple, rows), strict=True)
    of = dict(zip(Row.__struct_fields__, columns, strict=True))
    return Row(
        came=sum(of["came"]),
        ended=sum(of["ended"]),
        failed=sum(of["failed"]),
        retried=sum(of["retried"]),
        waiting=observed(of["waiting"]),
        running=observed(of["running"]),
        oldest_ms=max(of["oldest_ms"]),
        able_ms=sum(of["able_ms"]),
        memory=observed(of["memory"]),
        run_ms=sum(of["run_ms"]),
        waits=_added(of["waits"]),
        runs=_added(of["runs"]),
        attempts=_attempts(rows),
    )


def _attempts(rows: list[Row]) -> int:
    """The runs of rows of a pool; an older row has only those of its tasks."""
    if not any(row.attempts for row in rows):
        return 0
    return sum([row.attempts or row.ended + row.retried for row in rows])


def minute_rows(counters: Mapping[str, str]) -> Rows:
    """The rows of a closed minute, from its counters and what was observed in it; unreadable fields are left out."""
    minute = _Minute()
    for field, value in counters.items():
        minute.read(field, value)
    return capped(minute.rows())


def merged(steps: Iterable[Mapping[str, Row]]) -> Rows:
    """The rows of a longer step, from those of its parts."""
    found: dict[str, list[Row]] = {}
    for rows in steps:
        for series, row in rows.items():
            found.setdefault(series, []).append(row)
    return capped({series: following(rows) for series, rows in found.items()})


def capped(rows: Rows) -> Rows:
    """Of each sort at most the number in CAPS: those with most in them. The others are in one row of the sort."""
    kept = dict(rows)
    for rest, most in CAPS.items():
        of_sort = (series for series in rows if series.startswith(f"{rest}|"))
        found = sorted(of_sort, key=lambda each: -rows[each].weight)
        if len(found) > most:
            others = [kept.pop(series) for series in found[most:]]
            kept[rest] = together([*others, *([kept[rest]] if rest in kept else [])])
    return kept


def steps_of(way: str) -> Iterable[tuple[str, str]]:
    """The transitions that one counter counts: `>pending>locked` are those into `pending`, and from it to `locked`."""
    return pairwise(way.split(">"))


def total(rows: Mapping[str, Row]) -> int:
    """What the rows of a step count together."""
    return sum(row.events for row in rows.values())


class _Work(NamedTuple):
    """What a worker did in a minute, and what was observed at its end."""

    ended: int
    failed: int
    used_ms: int
    able_ms: int
    busy: int
    memory: int

    @property
    def row(self) -> Row:
        return Row(
            ended=self.ended,
            failed=self.failed,
            run_ms=self.used_ms,
            able_ms=self.able_ms,
            running=self.busy,
            memory=self.memory,
        )


class _Minute:
    """The counters of one minute, by series."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {}
        self.waits: dict[str, Counter[int]] = {}
        self.runs: dict[str, Counter[int]] = {}
        self.observed: dict[str, tuple[int, int, int]] = {}
        self.others: dict[str, Row] = {}
        self.came_to_lanes = 0

    def read(self, field: str, value: str) -> None:
        """Add one field."""
        word, _, rest = field.partition("|")
        if word == "@g":
            self._observe(rest, value)
            return
        if word == "@w":
            self._work(rest, value)
            return
        number = int(value) if value.lstrip("-").isdigit() else 0
        if word == "tr":
            for source, target in steps_of(rest):
                self._move(source, target, number)
        elif word in ("in", "ok", "err", "re", "ms"):
            self._count(f"n|{rest}", word, number)
            if word == "err":
                self._count(POOL, word, number)
            if word in ("ok", "err"):
                self._count(POOL, "runs", number)
        elif word == "@e":
            self.others[f"e|{rest}"] = Row(failed=number)
        elif word in ("run", "wait"):
            self._time(word, rest, number)
        elif word in ("@run", "@wait"):
            name, _, bucket = rest.rpartition("|")
            self._add_time(word[1:], _lane(name), bucket, number)
        elif word in ("@in", "@ok", "@err", "@re", "@ms"):
            self._count(_lane(rest), word[1:], number)
            self.came_to_lanes += number if word == "@in" else 0

    def rows(self) -> Rows:
        """The rows."""
        came = self.counts.get(POOL, Counter())["in"] - self.came_to_lanes
        if came > 0:
            self._count("l|default", "in", came)
        found = {*self.counts, *self.waits, *self.runs, *self.observed}
        return {series: self._row(series) for series in found if series} | self.others

    def _row(self, series: str) -> Row:
        counts = self.counts.get(series, Counter())
        runs = counts["ok"] + counts["err"] - counts["re"]
        waiting, running, oldest = self.observed.get(series, (-1, -1, -1))
        return Row(
            came=counts["in"],
            ended=counts["out"] if series == POOL or series.startswith("s|") else max(0, runs),
            failed=counts["err"],
            retried=counts["re"],
            waiting=waiting,
            running=running,
            oldest_ms=oldest,
            run_ms=counts["ms"],
            waits=_flat(self.waits.get(series, Counter())),
            runs=_flat(self.runs.get(series, Counter())),
            attempts=counts["runs"],
        )

    def _move(self, source: str, target: str, number: int) -> None:
        if source:
            self._count(f"s|{source}", "out", number)
        if target:
            self._count(f"s|{target}", "in", number)
        if not source:
            self._count(POOL, "in", number)
        elif target in _ENDS and source not in _ENDS:
            self._count(POOL, "out", number)
        elif target == State.RESTART:
            self._count(POOL, "re", number)

    def _count(self, series: str, word: str, number: int) -> None:
        self.counts.setdefault(series, Counter())[word] += number

    def _time(self, word: str, rest: str, number: int) -> None:
        name, _, bucket = rest.rpartition("|")
        self._add_time(word, f"n|{name}", bucket, number)
        self._add_time(word, POOL, bucket, number)

    def _add_time(self, word: str, series: str, bucket: str, number: int) -> None:
        if bucket.isdigit():
            times = self.waits if word == "wait" else self.runs
            times.setdefault(series, Counter())[int(bucket)] += number

    def _work(self, worker: str, value: str) -> None:
        parts = value.split(" ")
        if len(parts) == len(_Work._fields) and all(part.isdigit() for part in parts):
            self.others[f"w|{worker}"] = _Work(*map(int, parts)).row

    def _observe(self, series: str, value: str) -> None:
        parts = [int(part) if part.isdigit() else -1 for part in value.split(" ")]
        if len(parts) == 3:
            self.observed[series] = (parts[0], parts[1], parts[2])


_ENDS = frozenset(str(state) for state in TERMINAL)


def _lane(lane: str) -> str:
    """The series of a lane; '' stands for the lanes beyond the number that a minute counts."""
    return f"l|{lane}" if lane else OTHER_LANES


def _flat(counts: Mapping[int, int]) -> Flat:
    return tuple(chain.from_iterable([pair for pair in sorted(counts.items()) if pair[1] > 0]))


def _counter(flat: Flat) -> dict[int, int]:
    return dict(zip(flat[::2], flat[1::2], strict=False))


def _added(flats: Iterable[Flat]) -> Flat:
    total: dict[int, int] = {}
    for flat in flats:
        for bucket, count in zip(flat[::2], flat[1::2], strict=False):
            total[bucket] = total.get(bucket, 0) + count
    return _flat(total)
