"""Actions on lanes: they take effect with the next claim."""

from __future__ import annotations

from collections.abc import Callable

from queueops.conf.tables import MOST_RATE
from queueops.control.per_pool_calls import check_pool
from queueops.errors import BadOption, UnknownLane, advice
from queueops.model.contracts import DEFAULT_LANE
from queueops.model.ids import check_lane, lane_or_none
from queueops.model.sentences import Figure, say
from queueops.redis.broker import get_broker
from queueops.redis.reader import Reader

MOST_SLOTS = 1_000_000
LEAST_RATE = 0.001
MOST_WEIGHT = 1000
ALLOWED = {
    "limit": say("a whole number from 1 to %(most)s", most=MOST_SLOTS),
    "rate": say(
        "a number from %(least)s to %(most)s", least=Figure(f"{LEAST_RATE:g}"), most=Figure(f"{MOST_RATE:,.0f}")
    ),
    "weight": say("a whole number from 1 to %(most)s", most=str(MOST_WEIGHT)),
}
MOST_LANES = 10_000
"""The lanes that a pool remembers."""
NEIGHBOURS = 100
"""Number of known lanes that are searched for a similar name."""


class _Unchanged:
    """The value for a setting that is not changed."""


UNCHANGED = _Unchanged()


def pause_lane(pool: str, lane: str, *, new: bool = False) -> dict[str, str]:
    """Pause the lane: it starts no task; running tasks continue. Returns the settings before.

    Raises UnknownLane for a lane without settings that never had a ready task, unless it is `new`.
    """
    _check(pool, lane, new=new)
    return get_broker().lane(pool, lane, paused=1)


def resume_lane(pool: str, lane: str) -> dict[str, str]:
    """Resume the lane. Returns the settings before."""
    _check(pool, lane)
    return get_broker().lane(pool, lane, paused=None)


def pause_pool(pool: str, *, note: Callable[[str], object] = str) -> tuple[str, ...]:
    """Pause each lane of the pool; running tasks continue. Returns the lanes that were not paused before.

    The lanes are those that the settings declare, the default one, and the latest used. A lane that gets its first task
    later is not paused. ``note`` is called with each lane as it is paused.
    """
    return _each(pool, 1, note)


def resume_pool(pool: str, *, note: Callable[[str], object] = str) -> tuple[str, ...]:
    """Resume each paused lane of the pool. Returns these lanes; ``note`` as in `pause_pool`."""
    return _each(pool, None, note)


def _each(pool: str, paused: int | None, note: Callable[[str], object]) -> tuple[str, ...]:
    check_pool(pool)
    broker, changed = get_broker(), []
    declared = (DEFAULT_LANE, *broker.settings.pool(pool).lanes)
    for lane in dict.fromkeys((*declared, *Reader(broker).lanes(pool, MOST_LANES))):
        if lane_or_none(lane.encode()) is None:
            continue  # a name that no task can have
        before = broker.lane(pool, lane, paused=paused)
        if ("paused" in before) != bool(paused):
            changed.append(lane)
            note(lane)
    return tuple(changed)


def set_lane(
    pool: str,
    lane: str,
    *,
    limit: int | _Unchanged | None = UNCHANGED,
    rate: float | _Unchanged | None = UNCHANGED,
    weight: int | _Unchanged | None = UNCHANGED,
    new: bool = False,
) -> dict[str, str]:
    """Change a lane's limit of parallel tasks, its rate of starts per second, and its weight beside other lanes.

    None: no limit, any rate, the default weight. A lane without a rate before may start a second's tasks at once.
    Returns the settings before. Raises BadOption, BadId and, unless the lane is `new`, UnknownLane.
    """
    wanted = {"limit": limit, "rate": rate, "weight": weight}
    given = {name: value for name, value in wanted.items() if not isinstance(value, _Unchanged)}
    for name, value in given.items():
        if value is not None and not is_allowed(name, value):
            raise BadOption(name=name, value=value, expected=say("%(range)s, or None", range=ALLOWED[name]))
    _check(pool, lane, new=new)
    return get_broker().lane(pool, lane, **given)


def is_allowed(name: str, value: object) -> bool:
    """Whether the value is valid: a number of its type (not True), within its bounds."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    if name == "rate":
        return LEAST_RATE <= value <= MOST_RATE
    return isinstance(value, int) and 1 <= value <= (MOST_SLOTS if name == "limit" else MOST_WEIGHT)


def _check(pool: str, lane: str, *, new: bool = False) -> None:
    """Raise BadOption or UnknownLane unless the pool and the lane exist (or the lane is new)."""
    broker = get_broker()
    check_lane(lane)
    check_pool(pool)
    reader = Reader(broker)
    declared = {DEFAULT_LANE, *broker.settings.pool(pool).lanes}
    if not new and lane not in declared and not reader.has_lane(pool, lane):
        readable = (each for each in reader.lanes(pool, NEIGHBOURS) if ":=" not in each)  # a digest is no name
        raise UnknownLane(pool=pool, lane=lane, advice=advice(lane, declared.union(readable)))
