"""The past: what the history has of one moment, of all pools with their lanes, names and states."""

from __future__ import annotations

from collections.abc import Mapping

from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.series import Point, point_of, store_ms
from queueops.inspect.shared_readings import SharedReadings
from queueops.inspect.store import open_reader
from queueops.model.history import LEVELS, POOL, Level, Row, together, unpack
from queueops.redis.query_replies import text


class PastRow(Answer, frozen=True, kw_only=True):
    """The figures of a pool, a lane or a name at that moment; a name is that of all pools together."""

    pool: str = ""
    lane: str = ""
    name: str = ""
    point: Point


class Past(Answer, frozen=True, kw_only=True):
    """All pools at one moment: the step of the history that holds it, the shortest that is still kept."""

    at_ms: int  # the beginning of the step
    step_ms: int
    total: Point  # of all pools; not `known` if the history has nothing of that time
    pools: tuple[PastRow, ...]
    lanes: tuple[PastRow, ...]  # those with rows of their own, the most waiting first
    names: tuple[PastRow, ...]  # likewise, the most failures first
    states: dict[str, int]  # tasks in each
    broken: tuple[Broken, ...] = ()

    def row(self, *, pool: str = "", lane: str = "", name: str = "") -> Point | None:
        """The figures of that pool, lane or name, or of all pools; None if they are not known apart."""
        if not (pool or lane or name):
            return self.total if self.total.known else None
        rows = self.lanes if lane else self.names if name else self.pools
        wanted = (pool if not name else "", lane, name)
        return next((row.point for row in rows if (row.pool, row.lane, row.name) == wanted), None)


_READINGS: SharedReadings[Past] = SharedReadings()


def past(at_ms: int, max_age_s: float = 0.0) -> Past:
    """The figures of a moment: of its minute for 48 hours, of its ten minutes for 14 days, then of its hour.

    An open step is not known yet. It costs two round trips. The answer may be one that this process read up to
    ``max_age_s`` seconds ago.
    """
    return _READINGS.read(at_ms // 60_000, max_age_s, lambda: _past(at_ms))


def _past(at_ms: int) -> Past:
    reader = open_reader()
    level = _level(at_ms, store_ms(reader))
    slot = level.slot(at_ms)
    found = {
        pool: {text(key): row for key, data in fields.items() if (row := unpack(data)) is not None}
        for pool, fields in reader.history_step((level.word, slot), reader.pools()).items()
    }
    at = slot * level.step_ms
    names: dict[str, list[Row]] = {}
    states: dict[str, list[Row]] = {}
    for rows in found.values():
        for key, row in rows.items():
            for prefix, into in (("n|", names), ("s|", states)):
                if key.startswith(prefix):
                    into.setdefault(key.removeprefix(prefix), []).append(row)
    pools = {pool: rows[POOL] for pool, rows in found.items() if POOL in rows}
    by_name = [PastRow(name=name, point=point_of(at, together(rows))) for name, rows in names.items()]
    return Past(
        at_ms=at,
        step_ms=level.step_ms,
        total=point_of(at, together(pools.values()) if pools else None),
        pools=tuple(PastRow(pool=pool, point=point_of(at, row)) for pool, row in pools.items()),
        lanes=_lanes(at, found),
        names=tuple(sorted(by_name, key=lambda row: (-row.point.failed, -row.point.came, row.name))),
        states={state: together(rows).waiting for state, rows in states.items() if together(rows).waiting > 0},
        broken=broken_pools(reader.broken, reader.silent),
    )


def _lanes(at: int, found: Mapping[str, Mapping[str, Row]]) -> tuple[PastRow, ...]:
    rows = [
        PastRow(pool=pool, lane=key.removeprefix("l|"), point=point_of(at, row))
        for pool, rows in found.items()
        for key, row in rows.items()
        if key.startswith("l|")
    ]
    return tuple(sorted(rows, key=lambda row: (-(row.point.waiting or 0), row.pool, row.lane)))


def _level(at_ms: int, now_ms: int) -> Level:
    """The finest level that still has this time."""
    return next((level for level in LEVELS if now_ms - at_ms < level.kept_s * 1000), LEVELS[-1])
