"""Lane view: its figures and estimate, the tasks at both ends of its queue, what holds its slots, and its alarms."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from queueops.inspect.alarm import Alarm
from queueops.inspect.alarms import bound_of, lane_alarms
from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.estimates import Model
from queueops.inspect.lanes import LaneRow, lane_rows
from queueops.inspect.redaction import redactor
from queueops.inspect.shared_readings import SharedReadings
from queueops.inspect.snapshot import fresh_sample
from queueops.inspect.store import open_reader
from queueops.inspect.task_rows import TaskRow, read_row, row_of
from queueops.model import kinds
from queueops.model.contracts import DEFAULT_LANE
from queueops.redis.query_replies import text
from queueops.redis.reader import Reader

ENDS, HOLDERS, WORKERS, LANES = 10, 50, 500, 50
"""The most tasks of each end of the queue, and the most that hold a slot; workers and lanes of the estimate."""
OWN = "#"
"""The names of lanes that belong to one task begin so; the page of the task shows them."""


class LaneView(Answer, frozen=True, kw_only=True):
    """A lane in full; `row` has its settings, counts and estimate."""

    row: LaneRow
    first: tuple[TaskRow, ...]  # in the order of their starts
    last: tuple[TaskRow, ...]  # the last of the queue first, without those in `first`
    holders: tuple[TaskRow, ...]  # running tasks, the longest first; at most 50
    alarms: tuple[Alarm, ...]
    bound: str  # what keeps its tasks from a start: `limit of 1` or `rate of 5/s`; empty if neither does
    names: tuple[tuple[str, int], ...]  # of some waiting tasks, the most frequent first
    held: int = 0  # tasks of paused names, which wait beside the lane
    broken: tuple[Broken, ...] = ()


_READINGS: SharedReadings[LaneView | None] = SharedReadings()


def lane(pool: str, name: str, max_age_s: float = 0.0) -> LaneView | None:
    """One lane; None if the pool or the lane does not exist.

    With `max_age_s` the reading may be shared with other callers. It costs three round trips, and one more without a
    fresh snapshot. What it reads does not grow with the number of tasks.
    """
    return _READINGS.read((pool, name), max_age_s, lambda: _read(pool, name))


def _read(pool: str, name: str) -> LaneView | None:
    reader = open_reader()
    if name.startswith(OWN) or not reader.knows(pool):
        return None
    reply = reader.ask("lane_detail", {pool: (name, ENDS, HOLDERS)}).get(pool)
    declared = {DEFAULT_LANE, *reader.settings.pool(pool).lanes}
    if reply is None or not (reply[0] or name in declared):
        return None
    figures = json.loads(text(reply[1]))
    row, now = _estimated(reader, pool, figures)
    names = figures["names"] or {}
    return LaneView(
        row=row,
        first=_rows(pool, reply[2]),
        last=_rows(pool, reply[3]),
        holders=tuple(sorted(_rows(pool, reply[4]), key=lambda task: (task.entered_ms, task.id))),
        alarms=(*lane_alarms([row], now), *_of_kinds(pool, figures, now)),
        bound=bound_of(row),
        names=tuple(sorted(names.items(), key=lambda found: (-found[1], found[0]))),
        held=int(figures.get("held") or 0),
        broken=broken_pools(reader.broken, reader.silent),
    )


def _estimated(reader: Reader, pool: str, figures: dict[str, Any]) -> tuple[LaneRow, int]:
    """The lane with its estimate, which needs all lanes of its pool and the workers, and the time of these figures."""
    now, glance = int(figures["now"]), reader.glance([pool], WORKERS)[pool]
    sampled = fresh_sample(text(glance.snapshot or b""), now) or reader.samples([pool], LANES)[pool]
    others = [row for row in sampled["lanes"] or () if row["lane"] != figures["lane"]]
    sampled = sampled | {"lanes": [*others, figures]}
    model = Model(pool, sampled, glance.beats)
    (row,) = lane_rows(pool, {"lanes": [figures]}, model)
    return row, now


def _of_kinds(pool: str, figures: dict[str, Any], now: int) -> Iterator[Alarm]:
    """What the kinds tell of this lane alone."""
    for details in kinds.roles("details"):
        yield from details.alarms(pool, {"taken": now, "lanes": [figures]})


def _rows(pool: str, rows: Iterable[Any]) -> tuple[TaskRow, ...]:
    hide = redactor()
    return tuple(row_of(pool, read_row(text(id), row), hide) for id, _, *row in rows)
