"""System snapshot: what the sampler wrote each second, or, without a sampler, counted for this question.

A snapshot costs three round trips to each server: pools; their snapshots, workers and INFO; errors. The number of tasks
does not matter. Pools without a fresh snapshot cost another round trip.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from queueops.inspect.alarm import Alarm
from queueops.inspect.alarms import broken_alarms, lane_alarms, live
from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.errors import ErrorRow, error_rows
from queueops.inspect.estimates import Model
from queueops.inspect.joined_alarms import alarms_of_pools, joined
from queueops.inspect.lanes import LaneRow, lane_rows
from queueops.inspect.shared_readings import SharedReadings
from queueops.inspect.store import open_reader
from queueops.inspect.store_health import RedisHealth, redis_health, server_ms, slow_alarms, store_alarms
from queueops.inspect.throughput import PoolView, flows, pool_view
from queueops.model import kinds
from queueops.model.sentences import encodable
from queueops.redis.query_replies import text
from queueops.redis.reader import Glance, Reader
from queueops.redis.redis_cli import addressed

STALE_MS = 3000
"""An older snapshot was left by a sampler that has ended."""
LANES, ERRORS, WORKERS = 50, 20, 500

Samples = dict[str, dict[str, Any]]


class Snapshot(Answer, frozen=True, kw_only=True):
    """The whole system at one moment.

    `version` changes when pools, lanes, figures of kinds, errors, alarms or flows change, not `taken_ms` and `redis`.
    """

    version: str
    taken_ms: int
    computed: bool  # True: not written by a watchdog, but counted for this question
    states: dict[str, int]
    flows: dict[str, float]  # "pending>locked": changes per second
    pools: tuple[PoolView, ...]
    lanes: tuple[LaneRow, ...]
    chunk_lanes: tuple[Any, ...] = ()  # tasks with most ready chunks first
    errors: tuple[ErrorRow, ...]
    alarms: tuple[Alarm, ...]
    redis: RedisHealth
    broken: tuple[Broken, ...] = ()  # pools that could not be read in full; each is an alarm, too


_READINGS: SharedReadings[Snapshot] = SharedReadings()


def snapshot(max_age_s: float = 0.0) -> Snapshot:
    """The data of the overview, now or at most `max_age_s` seconds ago.

    `computed` says that it was not written by a watchdog.
    """
    return _READINGS.read("", max_age_s, _read)


def _read() -> Snapshot:
    reader = open_reader()
    names = reader.pools()
    found = reader.glance(names, WORKERS)
    infos = _infos(found)
    info = next(iter(infos.values()), {})
    now = _now_ms(infos.values())
    samples, computed = completed(reader, names, {pool: glance.snapshot for pool, glance in found.items()}, now)
    beats = {pool: glance.beats for pool, glance in found.items()}
    known = error_rows(reader, names, ERRORS)
    broken = _broken(samples, reader)
    alive = {pool: len(live(sampled, beats.get(pool, ()))) for pool, sampled in samples.items()}
    models = {pool: Model(pool, sampled, beats.get(pool, ())) for pool, sampled in samples.items()}
    views = tuple(pool_view(pool, sampled, alive[pool], models[pool].pool()) for pool, sampled in samples.items())
    lanes = tuple(row for pool, sampled in samples.items() for row in lane_rows(pool, sampled, models[pool]))
    more = {
        name: rows for figures in kinds.roles("parts.figures") for name, rows in figures.of_snapshot(samples).items()
    }
    alarms = _alarms(views, samples, found, lanes, broken, reader)
    return Snapshot(
        version=_version(views, lanes, more, known, alarms, samples),
        taken_ms=max((int(sampled["taken"]) for sampled in samples.values()), default=now),
        computed=computed,
        states=_sum(view.states for view in views),
        flows={flow: round(rate, 3) for flow, rate in _sum(flows(sampled) for sampled in samples.values()).items()},
        pools=views,
        lanes=lanes,
        errors=tuple(known),
        alarms=alarms,
        redis=redis_health(info, *reader.library()),
        broken=broken,
        **more,
    )


def pools_and_alarms(
    reader: Reader, names: Sequence[str], found: Mapping[str, Glance]
) -> tuple[list[PoolView], tuple[Alarm, ...]]:
    """All pools and their alarms, from their snapshots, their workers and INFO of their servers."""
    infos = _infos(found)
    now = _now_ms(infos.values())
    data = {pool: glance.snapshot for pool, glance in found.items()}
    samples, _ = completed(reader, names, data, now)
    models = {pool: Model(pool, sampled, found[pool].beats) for pool, sampled in samples.items()}
    views = [
        pool_view(pool, sampled, len(live(sampled, found[pool].beats)), models[pool].pool())
        for pool, sampled in samples.items()
    ]
    lanes = [row for pool, sampled in samples.items() for row in lane_rows(pool, sampled, models[pool])]
    return views, _alarms(views, samples, found, lanes, _broken(samples, reader), reader)


def _infos(found: Mapping[str, Glance]) -> dict[str, dict[str, Any]]:
    """INFO of each server, by a pool that it has; of a single server by no word."""
    known = {glance.info.get("run_id"): (pool, glance.info) for pool, glance in found.items()}
    return {f"of pool {pool}" if len(known) > 1 else "": info for pool, info in known.values()}


def _now_ms(infos: Iterable[Mapping[str, Any]]) -> int:
    """The clock of a server; of this process where no server tells its own."""
    return next((ms for info in infos if (ms := server_ms(info))), None) or int(time.time() * 1000)


def completed(reader: Reader, names: Sequence[str], data: Mapping[str, bytes | None], now: int) -> tuple[Samples, bool]:
    """The fresh ones of these snapshots, and counts of the other pools."""
    fresh = {pool: found for pool, each in data.items() if (found := fresh_sample(text(each), now))}
    missing = [pool for pool in names if pool not in fresh and pool not in reader.silent]
    counted = reader.samples(missing, LANES) if missing else {}
    found = {pool: fresh.get(pool) or counted.get(pool) for pool in names}
    return {pool: sampled for pool, sampled in found.items() if sampled}, bool(missing)


def pool_sample(data: str, pool: str, now: int) -> dict[str, Any]:
    """The figures of one pool: its snapshot, or counted now if that is not fresh."""
    if found := fresh_sample(data, now):
        return found
    return open_reader().samples([pool], LANES)[pool]


def fresh_sample(data: str, now: int) -> dict[str, Any]:
    """A sampler's snapshot of one pool; empty if it is older than STALE_MS, or a foreign program wrote the key."""
    try:
        found = json.loads(data or "{}")
        return found if now - found["taken"] <= STALE_MS and {"states", "lanes"} <= found.keys() else {}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _broken(samples: Samples, reader: Reader) -> tuple[Broken, ...]:
    """The broken keys of the samples and of now; a repaired key is reported until the next sample."""
    told = {"*": ()} | {pool: sampled.get("broken") or () for pool, sampled in samples.items()}
    keys = {pool: dict.fromkeys((*told[pool], *reader.broken.get(pool, ()))) for pool in told}
    return broken_pools(keys, reader.silent)


def _alarms(
    views: Sequence[PoolView],
    samples: Samples,
    glances: Mapping[str, Glance],
    lanes: Sequence[LaneRow],
    broken: Sequence[Broken],
    reader: Reader,
) -> tuple[Alarm, ...]:
    trash = {pool: count for pool, sampled in samples.items() if (count := int(sampled.get("trashed") or 0))}
    found = [alarm for server, info in _infos(glances).items() for alarm in store_alarms(info, server, trash)]
    found += broken_alarms(broken)
    found += slow_alarms(reader)
    found += alarms_of_pools(views, samples, {pool: glance.beats for pool, glance in glances.items()})
    found += lane_alarms(lanes, max((int(sampled["taken"]) for sampled in samples.values()), default=0))
    made = joined(found, (glance.alarms for glance in glances.values()))
    return tuple(structs.replace(each, command=addressed(each.command, reader.settings.url)) for each in made)


def _sum(rows: Any) -> dict[str, Any]:
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row)
    return dict(total)


def _version(
    views: Sequence[PoolView],
    lanes: Sequence[LaneRow],
    more: Mapping[str, Any],
    errors: Sequence[ErrorRow],
    alarms: Sequence[Alarm],
    samples: Samples,
) -> str:
    """A digest that changes when pools, lanes, figures of kinds, errors, alarms or flows change.

    The figures of the store are left out: each question changes them.
    """
    shown = msgspec.json.encode(
        (views, lanes, *more.values(), errors, alarms, [flows(sampled) for sampled in samples.values()]),
        enc_hook=encodable,
    )
    return hashlib.sha1(shown, usedforsecurity=False).hexdigest()[:16]
