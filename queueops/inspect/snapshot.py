"""The whole system at one moment: what the sampler wrote each second, or, when none runs, counted on the spot.

Five round trips, however many tasks there are: pools, their snapshots, workers, errors, and the server's own figures.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from queueops.inspect.alarms import lane_alarms, pool_alarms
from queueops.inspect.answers import Alarm, ChunkLane, ErrorRow, LaneRow, PoolView, Snapshot
from queueops.inspect.errors import error_rows
from queueops.inspect.lanes import chunk_rows, lane_rows, most_ready
from queueops.inspect.rates import flows, pool_view
from queueops.inspect.source import open_broker, open_reader
from queueops.inspect.store import redis_health, server_ms, store_alarms
from queueops.redis.facts import Beat
from queueops.redis.reader import Reader

STALE_MS = 3000
"""A snapshot older than this was left by a sampler that is gone."""
LANES, ERRORS, WORKERS = 50, 20, 500

Samples = dict[str, dict[str, Any]]


def snapshot() -> Snapshot:
    """All that the overview shows. `computed` says that no watchdog wrote it."""
    reader = open_reader()
    names, info = reader.pools(), reader.info()
    now = server_ms(info) or int(time.time() * 1000)
    samples, computed = _samples(reader, names, now)
    beats = _by_pool(reader.workers(names, WORKERS)[1])
    views = tuple(pool_view(pool, sampled, len(beats.get(pool, ()))) for pool, sampled in samples.items())
    lanes = tuple(row for pool, sampled in samples.items() for row in lane_rows(pool, sampled))
    chunks = tuple(most_ready(row for pool, sampled in samples.items() for row in chunk_rows(pool, sampled)))
    found = tuple(error_rows(reader.errors(names, ERRORS), ERRORS))
    alarms = _alarms(views, samples, beats, lanes, info)
    return Snapshot(
        version=_version(views, lanes, chunks, found, alarms, samples),
        taken_ms=max((int(sampled["taken"]) for sampled in samples.values()), default=now),
        computed=computed,
        states=_sum(view.states for view in views),
        flows={flow: round(rate, 3) for flow, rate in _sum(flows(sampled) for sampled in samples.values()).items()},
        pools=views,
        lanes=lanes,
        chunk_lanes=chunks,
        errors=found,
        alarms=alarms,
        redis=redis_health(info),
    )


def _samples(reader: Reader, names: Sequence[str], now: int) -> tuple[Samples, bool]:
    """Each pool's figures, and whether any had to be counted now."""
    written = {pool: json.loads(data) for pool, data in open_broker().snapshots(names).items() if data}
    fresh = {pool: sampled for pool, sampled in written.items() if now - sampled["taken"] <= STALE_MS}
    missing = [pool for pool in names if pool not in fresh]
    counted = {pool: json.loads(data) for pool, data in reader.samples(missing, LANES).items()} if missing else {}
    return {pool: fresh.get(pool) or counted[pool] for pool in names}, bool(missing)


def _by_pool(rows: Sequence[tuple[str, Beat]]) -> dict[str, list[Beat]]:
    found: dict[str, list[Beat]] = {}
    for pool, beat in rows:
        found.setdefault(pool, []).append(beat)
    return found


def _alarms(
    views: Sequence[PoolView],
    samples: Samples,
    beats: Mapping[str, Sequence[Beat]],
    lanes: Sequence[LaneRow],
    info: Mapping[str, Any],
) -> tuple[Alarm, ...]:
    found = list(store_alarms(info))
    for view in views:
        found += pool_alarms(view, samples[view.name], beats.get(view.name, ()))
    found += lane_alarms(lanes)
    return tuple(sorted(found, key=lambda alarm: alarm.level != "danger"))


def _sum(rows: Any) -> dict[str, Any]:
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row)
    return dict(total)


def _version(
    views: Sequence[PoolView],
    lanes: Sequence[LaneRow],
    chunks: Sequence[ChunkLane],
    errors: Sequence[ErrorRow],
    alarms: Sequence[Alarm],
    samples: Samples,
) -> str:
    """A word that changes when something that is shown has changed, and with nothing else."""
    shown = msgspec.json.encode(
        (views, lanes, chunks, errors, alarms, [flows(sampled) for sampled in samples.values()])
    )
    return hashlib.sha1(shown, usedforsecurity=False).hexdigest()[:16]
