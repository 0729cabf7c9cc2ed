"""The verbs on lanes: they take effect with the next claim."""

from __future__ import annotations

from queueops.conf import MOST_RATE
from queueops.contracts import DEFAULT_LANE
from queueops.errors import BadOption, UnknownLane, advice
from queueops.ids import check_lane
from queueops.redis.broker import RedisBroker, get_broker
from queueops.redis.reader import Reader

MOST_SLOTS = 1_000_000
LEAST_RATE = 0.001
WEIGHTS = range(1, 1001)
NEIGHBOURS = 100
"""So many known lanes are looked at for one of a similar name."""


class _Unchanged:
    """The value of a setting that is left as it is."""


UNCHANGED = _Unchanged()


def pause_lane(pool: str, lane: str) -> dict[str, str]:
    """Claim nothing from the lane any more; what runs, runs on. Answers what was set before.

    Raises UnknownLane where no task was ever ready and no setting declares the lane.
    """
    return _broker(pool, lane).lane(pool, lane, paused=1)


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
) -> dict[str, str]:
    """Change how many tasks of a lane run at once, how many start a second, and its share beside other lanes.

    None: no limit, any rate, the usual share. A lane that had no rate may start a second's tasks at once.

    Answers what was set before. Raises BadOption, BadId and UnknownLane.
    """
    wanted = {"limit": limit, "rate": rate, "weight": weight}
    given = {name: value for name, value in wanted.items() if not isinstance(value, _Unchanged)}
    if (slots := given.get("limit")) is not None and not 1 <= slots <= MOST_SLOTS:
        raise BadOption(name="limit", value=slots, expected=f"a whole number from 1 to {MOST_SLOTS:,}, or None")
    if (starts := given.get("rate")) is not None and not LEAST_RATE <= starts <= MOST_RATE:
        raise BadOption(
            name="rate", value=starts, expected=f"a number from {LEAST_RATE:g} to {MOST_RATE:,.0f}, or None"
        )
    if (share := given.get("weight")) is not None and share not in WEIGHTS:
        raise BadOption(name="weight", value=share, expected="a whole number from 1 to 1000, or None")
    return _broker(pool, lane).lane(pool, lane, **given)


def _broker(pool: str, lane: str) -> RedisBroker:
    """The broker, once it is sure that there is such a pool, with such a lane."""
    broker = get_broker()
    check_lane(lane)
    reader = Reader(broker)
    if pool not in reader.pools():
        raise BadOption(name="pool", value=pool, expected="one that has been used")
    declared = {DEFAULT_LANE, *broker.settings.pool(pool).lanes}
    if lane not in declared and not reader.has_lane(pool, lane):
        raise UnknownLane(pool=pool, lane=lane, advice=advice(lane, declared.union(reader.lanes(pool, NEIGHBOURS))))
    return broker
