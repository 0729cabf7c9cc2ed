"""One moment of the past: what the history has of it, of all pools with their lanes, names and states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from queueops.inspect import lane_labels
from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.history.ranges import store_ms
from queueops.inspect.history.series import Point, point_of
from queueops.inspect.remembered import Remembered
from queueops.inspect.shared_readings import SharedReadings
from queueops.inspect.store import open_reader
from queueops.model.history import LEVELS, POOL, Level, Row, together, unpack
from queueops.redis.query_replies import text
from queueops.redis.reader import Reader


class PastRow(Answer, frozen=True, kw_only=True):
    """One series at that moment; a name and an error are those of all pools together."""

    pool: str = ""
    lane: str = ""
    name: str = ""
    error: str = ""  # fingerprint
    error_type: str = ""  # empty if no pool has that error any more; `name` is then empty, too
    worker: str = ""
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
    errors: tuple[PastRow, ...] = ()  # likewise, the most failures first
    workers: tuple[PastRow, ...] = ()
    broken: tuple[Broken, ...] = ()

    def row(self, *, pool: str = "", lane: str = "", name: str = "", error: str = "", worker: str = "") -> Point | None:
        """The figures of that pool, lane, name, error or worker, or of all pools; None without any."""
        wanted = {"lane": lane, "name": name, "error": error, "worker": worker}
        what = next((what for what, value in wanted.items() if value), "pool" if pool else "")
        if not what:
            return self.total if self.total.known else None
        rows: tuple[PastRow, ...] = getattr(self, f"{what}s")
        place = {what: wanted.get(what, pool)} | ({"pool": pool} if what in ("pool", "lane") else {})
        return next(
            (row.point for row in rows if all(getattr(row, key) == value for key, value in place.items())), None
        )


MOST_TYPES = 20
"""Errors whose type is read: as many as a page shows."""
ERRORS: Remembered[tuple[str, str]] = Remembered()
"""Type and name of a task, by the fingerprint of an error."""
_READINGS: SharedReadings[Past] = SharedReadings()


def past(at_ms: int, max_age_s: float = 0.0) -> Past:
    """The figures of a moment: of its minute for 48 hours, of its ten minutes for 14 days, then of its hour.

    An open step is not known yet. It costs two round trips, and one more for digests and errors that this process has
    not read before. The answer may be one that this process read up to ``max_age_s`` seconds ago.
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
    pools = {pool: rows[POOL] for pool, rows in found.items() if POOL in rows}
    states = _by_series("s", found)
    names = [PastRow(name=name, point=point_of(at, row)) for name, row in _by_series("n", found).items()]
    errors = [PastRow(error=error, point=point_of(at, row)) for error, row in _by_series("e", found).items()]
    errors.sort(key=lambda row: (-row.point.failed, row.error))
    lanes = _lanes(at, found)
    _know(reader, tuple(found), lanes, errors[:MOST_TYPES])
    return Past(
        at_ms=at,
        step_ms=level.step_ms,
        total=point_of(at, together(pools.values()) if pools else None),
        pools=tuple(PastRow(pool=pool, point=point_of(at, row)) for pool, row in pools.items()),
        lanes=lanes,
        names=tuple(sorted(names, key=lambda row: (-row.point.failed, -row.point.came, row.name))),
        states={state: row.waiting for state, row in states.items() if row.waiting > 0},
        errors=(*map(_named, errors[:MOST_TYPES]), *errors[MOST_TYPES:]),
        workers=tuple(
            PastRow(pool=pool, worker=key[2:], point=point_of(at, row))
            for pool, rows in found.items()
            for key, row in rows.items()
            if key.startswith("w|")
        ),
        broken=broken_pools(reader.broken, reader.silent),
    )


def _know(reader: Reader, pools: Sequence[str], lanes: Sequence[PastRow], errors: Sequence[PastRow]) -> None:
    """Read the titles of lanes, and the types and names of errors, that are not known: one round trip, mostly none.

    Messages of errors are left out: readings are shared by users with less rights.
    """
    of_lanes = lane_labels.unknown((row.pool, row.lane) for row in lanes)
    unknown = ERRORS.to_read(row.error for row in errors)
    if not of_lanes and not unknown:
        return
    titles, groups = reader.titles(of_lanes, dict.fromkeys(pools, unknown))
    lane_labels.remember_all(titles)
    for fingerprint, (title, name) in groups.items():
        ERRORS.put(fingerprint, (title.partition(": ")[0], name))


def _named(row: PastRow) -> PastRow:
    found = ERRORS.get(row.error)
    return row if found is None else structs.replace(row, error_type=found[0], name=found[1])


def _by_series(sign: str, found: Mapping[str, Mapping[str, Row]]) -> dict[str, Row]:
    """The rows of a sort, of all pools together, by what each is of."""
    rows: dict[str, list[Row]] = {}
    for of_pool in found.values():
        for key, row in of_pool.items():
            if key.startswith(f"{sign}|"):
                rows.setdefault(key[2:], []).append(row)
    return {what: together(each) for what, each in rows.items()}


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
