"""The verbs on lanes: they take effect with the next claim."""

from __future__ import annotations

from queueops.conf import MOST_RATE
from queueops.errors import BadOption, UnknownLane, advice
from queueops.model.contracts import DEFAULT_LANE
from queueops.model.ids import check_lane
from queueops.redis.broker import RedisBroker, get_broker
from queueops.redis.reader import Reader

MOST_SLOTS = 1_000_000
LEAST_RATE = 0.001
MOST_WEIGHT = 1000
ALLOWED = {
    "limit": f"a whole number from 1 to {MOST_SLOTS:,}",
    "rate": f"a number from {LEAST_RATE:g} to {MOST_RATE:,.0f}",
    "weight": f"a whole number from 1 to {MOST_WEIGHT}",
}
NEIGHBOURS = 100
"""So many known lanes are looked at for one of a similar name."""


class _Unchanged:
    """The value of a setting that is left as it is."""


UNCHANGED = _Unchanged()


def pause_lane(pool: str, lane: str, *, new: bool = False) -> dict[str, str]:
    """Claim nothing from the lane any more; what runs, runs on. Answers what was set before.

    Raises UnknownLane where no task was ever ready and no setting declares the lane, unless it is to be a `new` one.
    """
    return _broker(pool, lane, new=new).lane(pool, lane, paused=1)


def resume_lane(pool: str, lane: str) -> dict[str, str]:
    """Claim from the lane again. Answers what was set before."""
    return _broker(pool, lane).lane(pool, lane, paused=None)


def set_lane(
    pool: str,
    lane: str,
    *,
    limit: int | _Unchanged | None = UNCHANGED,
    rate: float | _Unchanged | None = UNCHANGED,
    weight: int | _Unchanged | None = UNCHANGED,
    new: bool = False,
) -> dict[str, str]:
    """Change how many tasks of a lane run at once, how many start a second, and its share beside other lanes.

    None: no limit, any rate, the usual share. A lane that had no rate may start a second's tasks at once.

    Answers what was set before. Raises BadOption, BadId and, unless it is to be a `new` one, UnknownLane.
    """
    wanted = {"limit": limit, "rate": rate, "weight": weight}
    given = {name: value for name, value in wanted.items() if not isinstance(value, _Unchanged)}
    for name, value in given.items():
        if value is not None and not _allowed(name, value):
            raise BadOption(name=name, value=value, expected=f"{ALLOWED[name]}, or None")
    return _broker(pool, lane, new=new).lane(pool, lane, **given)


def _allowed(name: str, value: object) -> bool:
    """Whether a lane can have it: a number (True is none) of its kind, within its bounds."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    if name == "rate":
        return LEAST_RATE <= value <= MOST_RATE
    return isinstance(value, int) and 1 <= value <= (MOST_SLOTS if name == "limit" else MOST_WEIGHT)


def _broker(pool: str, lane: str, *, new: bool = False) -> RedisBroker:
    """The broker, once it is sure that there is such a pool, with such a lane (or that one is to be made)."""
    broker = get_broker()
    check_lane(lane)
    reader = Reader(broker)
    if not reader.knows(pool):
        raise BadOption(name="pool", value=pool, expected="one that has been used")
    declared = {DEFAULT_LANE, *broker.settings.pool(pool).lanes}
    if not new and lane not in declared and not reader.has_lane(pool, lane):
        raise UnknownLane(pool=pool, lane=lane, advice=advice(lane, declared.union(reader.lanes(pool, NEIGHBOURS))))
    return broker
