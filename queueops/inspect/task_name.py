"""Task name questions: rates, waits, runs and latest tasks of one name, over all pools.

The counters of the store are by minute. Rates are of this and the previous minute, shares and percentiles of the last
hour. The latest runs are found among the newest tasks, and among those behind the backlog.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.errors import ErrorRow, error_row
from queueops.inspect.lane_labels import know_lanes
from queueops.inspect.registry import KnownTask, known_task
from queueops.inspect.shared_readings import SharedReadings
from queueops.inspect.store import open_reader
from queueops.model.histogram import BUCKETS, percentile
from queueops.model.states import State, table
from queueops.redis.query_replies import text, whole
from queueops.redis.reader import Reader

RUNS, LOOKED_AT = 60, 300
"""The most runs of an answer, and the most tasks of a pool that are looked at for them."""
HOUR = 60
"""Minutes of shares and percentiles."""
MOST_KEYS = 20
"""The most keys of an answer."""
MOST_ERRORS = 200
"""The error groups that are looked at, the latest first."""


class NameRun(Answer, frozen=True, kw_only=True):
    """The latest run of one task; `ended_ms` is None while it runs."""

    id: str
    pool: str
    state: str
    lane: str
    attempt: int
    begun_ms: int
    ended_ms: int | None = None

    def took_ms(self, now_ms: int) -> int:
        """How long it ran, or has run so far."""
        return max(0, (self.ended_ms or now_ms) - self.begun_ms)


class NamePause(Answer, frozen=True, kw_only=True):
    """The pause of a name in one pool."""

    pool: str
    since_ms: int
    held: int  # tasks that a claim has taken out of their lanes


class NameKey(Answer, frozen=True, kw_only=True):
    """A key for which tasks wait, in one pool. The `ready` ones have a turn and have not begun."""

    pool: str
    key: str
    waiting: int
    running: int
    ready: int
    next: str  # the task that has the next turn
    parts: int = 0  # chunks of the first tasks that wait, if it limits chunks


class NameView(Answer, frozen=True, kw_only=True):
    """One task name. Percentiles are None without a run within the hour."""

    name: str
    now_ms: int  # of the store
    states: dict[str, int]
    pools: tuple[str, ...]  # with tasks of the name
    in_rate: float  # pushes per second
    out_rate: float  # ended attempts per second
    ended: int  # attempts within the hour
    failed: int
    wait_p50_ms: float | None
    wait_p95_ms: float | None
    run_p50_ms: float | None
    run_p95_ms: float | None
    lanes: tuple[tuple[str, str, int], ...]  # pool, lane, number among the tasks that were looked at
    runs: tuple[NameRun, ...]  # the latest begun last
    errors: tuple[ErrorRow, ...]
    paused: tuple[NamePause, ...] = ()  # by pool
    keys: tuple[NameKey, ...] = ()  # for which most tasks wait
    all_keys: int = 0  # for which tasks wait
    oldest_ms: int | None = None  # time at which the oldest waiting task became ready
    known: KnownTask | None = None  # its code and the workers that know it
    broken: tuple[Broken, ...] = ()

    @property
    def starts_in(self) -> tuple[str, ...]:
        """The pools with tasks of the name where it is not paused."""
        return tuple(sorted({*self.pools} - {pause.pool for pause in self.paused}))

    @property
    def failure_rate(self) -> float:
        """The share of the attempts within the hour that failed, 0 to 1."""
        return self.failed / self.ended if self.ended else 0.0

    @property
    def waiting(self) -> int:
        """Pending tasks."""
        return self.states.get(State.PENDING, 0)

    @property
    def running(self) -> int:
        """Tasks that workers hold."""
        return sum(self.states.get(state, 0) for state in table().leased)


_READINGS: SharedReadings[NameView | None] = SharedReadings()


def task_name(name: str, max_age_s: float = 0.0) -> NameView | None:
    """One task name; None if no task of the name was ever pushed, and neither this process nor a worker knows it.

    With `max_age_s` the reading may be shared with other callers. It costs three round trips to each server, and one
    more if a lane has a digest whose title this process has not read.
    """
    return _READINGS.read(name, max_age_s, lambda: _read(name))


def _read(name: str) -> NameView | None:
    reader = open_reader()
    pools = reader.pools()
    replies = reader.ask("name", dict.fromkeys(pools, (name, LOOKED_AT, HOUR, BUCKETS, MOST_ERRORS)))
    known = known_task(reader, pools, name)
    found = {pool: reply for pool, reply in replies.items() if _is_used(reply)}
    if known is None and not found:
        return None
    return _view(name, reader, found, known, max((int(reply[0]) for reply in replies.values()), default=0))


def _is_used(reply: Sequence[Any]) -> bool:
    """Whether the pool has a task of the name, or had one within the hour, or the name is paused there."""
    return bool(reply[1] or reply[5] or reply[8] or any(any(minute) for minute in reply[2]))


def _view(
    name: str, reader: Reader, found: Mapping[str, Sequence[Any]], known: KnownTask | None, now_ms: int
) -> NameView:
    minutes = [[_padded(minute) for minute in reply[2]] for reply in found.values()]
    span_s = 60 + now_ms % 60_000 / 1000
    recent = [minute for pool in minutes for minute in pool[:2]]
    waits, runs = (_histogram(reply[place] for reply in found.values()) for place in (3, 4))
    states: Counter[str] = Counter()
    for reply in found.values():
        states.update({text(state): int(count) for state, count in _pairs(reply[1])})
    lanes = [(pool, text(lane), int(count)) for pool, reply in found.items() for lane, count in _pairs(reply[6])]
    know_lanes((pool, lane) for pool, lane, _ in lanes)
    errors = [error_row(pool, *row) for pool, reply in found.items() for row in reply[7]]
    return NameView(
        name=name,
        now_ms=now_ms,
        states=dict(states),
        pools=tuple(sorted(pool for pool, reply in found.items() if reply[1])),
        in_rate=round(sum(minute[0] for minute in recent) / span_s, 3),
        out_rate=round(sum(minute[1] + minute[2] for minute in recent) / span_s, 3),
        ended=sum(minute[1] + minute[2] for pool in minutes for minute in pool),
        failed=sum(minute[2] for pool in minutes for minute in pool),
        wait_p50_ms=percentile(waits, 0.5),
        wait_p95_ms=percentile(waits, 0.95),
        run_p50_ms=percentile(runs, 0.5),
        run_p95_ms=percentile(runs, 0.95),
        lanes=tuple(sorted(lanes, key=lambda lane: (-lane[2], lane))),
        runs=_runs(found),
        errors=tuple(sorted(errors, key=lambda row: -row.last_ms)),
        paused=tuple(
            NamePause(pool=pool, since_ms=whole(reply[8]), held=int(reply[9]))
            for pool, reply in sorted(found.items())
            if reply[8]
        ),
        keys=_keys(found),
        all_keys=sum(int(reply[11][0]) for reply in found.values()),
        oldest_ms=min((int(reply[10]) for reply in found.values() if int(reply[10]) >= 0), default=None),
        known=known,
        broken=broken_pools(reader.broken, reader.silent),
    )


def _runs(found: Mapping[str, Sequence[Any]]) -> tuple[NameRun, ...]:
    runs = [_run(pool, text(id), fields) for pool, reply in found.items() for id, fields in reply[5]]
    return tuple(sorted(runs, key=lambda run: (run.begun_ms, run.id))[-RUNS:])


def _keys(found: Mapping[str, Sequence[Any]]) -> tuple[NameKey, ...]:
    keys = [
        NameKey(
            pool=pool,
            key=text(key),
            waiting=whole(waiting),
            running=int(running),
            ready=int(ready),
            next=text(first).removeprefix("#").partition("#")[0],
            parts=int(parts),
        )
        for pool, reply in found.items()
        for key, waiting, running, ready, first, parts in reply[11][1:]
    ]
    return tuple(sorted(keys, key=lambda each: (-each.waiting, each.pool, each.key))[:MOST_KEYS])


def _run(pool: str, id: str, fields: Sequence[bytes | None]) -> NameRun:
    state, begun, ended, attempt, lane, *_ = (text(value or b"") for value in fields)
    begun_ms, ended_ms = whole(begun), whole(ended)
    is_over = state not in table().leased and ended_ms >= begun_ms
    return NameRun(
        id=id,
        pool=pool,
        state=state,
        lane=lane or "default",
        attempt=whole(attempt),
        begun_ms=begun_ms,
        ended_ms=ended_ms if is_over else None,
    )


def _padded(minute: Sequence[int]) -> list[int]:
    """Pushed, succeeded, failed and ms of one minute; an empty minute has none."""
    return [int(count) for count in minute] if minute else [0, 0, 0, 0]


def _histogram(replies: Iterable[Sequence[int]]) -> Counter[int]:
    found: Counter[int] = Counter()
    for flat in replies:
        found.update({int(bucket): int(count) for bucket, count in _pairs(flat)})
    return found


def _pairs(flat: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    return zip(flat[::2], flat[1::2], strict=True)
