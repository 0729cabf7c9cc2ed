"""Pool view: the figures of one pool, its lanes with their estimates, its workers and its alarms."""

from __future__ import annotations

import time

from queueops.inspect.alarm import Alarm
from queueops.inspect.alarms import lane_alarms, live
from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.estimates import Model
from queueops.inspect.joined_alarms import alarms_of_pools, joined
from queueops.inspect.lanes import LaneRow, lane_rows
from queueops.inspect.shared_readings import SharedReadings
from queueops.inspect.snapshot import WORKERS, pool_sample
from queueops.inspect.store import open_reader
from queueops.inspect.store_health import server_ms
from queueops.inspect.throughput import PoolView, pool_view
from queueops.inspect.workers import WorkerRow, worker_rows
from queueops.redis.query_replies import text


class PoolDetail(Answer, frozen=True, kw_only=True):
    """A pool in full; `view` has its counts and rates."""

    view: PoolView
    now_ms: int  # of the store
    lanes: tuple[LaneRow, ...]  # the latest used first; at most 50
    workers: tuple[WorkerRow, ...]
    alarms: tuple[Alarm, ...]  # of the pool and its lanes
    broken: tuple[Broken, ...] = ()


_READINGS: SharedReadings[PoolDetail | None] = SharedReadings()


def pool(name: str, max_age_s: float = 0.0) -> PoolDetail | None:
    """One pool; None if it does not exist.

    With `max_age_s` the reading may be shared with other callers. It costs two round trips, and one more without a
    fresh snapshot. What it reads does not grow with the number of tasks.
    """
    return _READINGS.read(name, max_age_s, lambda: _read(name))


def trash(name: str) -> int:
    """How many deleted tasks of a pool can be restored, and keep their memory."""
    broker = open_reader().broker
    return int(broker.ask_one(name, lambda client: client.zcard(broker.keys(name).trashed)) or 0)


def _read(name: str) -> PoolDetail | None:
    reader = open_reader()
    if not reader.knows(name):
        return None
    glance = reader.glance([name], WORKERS)[name]
    now = server_ms(glance.info) or int(time.time() * 1000)
    sampled = pool_sample(text(glance.snapshot or b""), name, now)
    model = Model(name, sampled, glance.beats)
    view = pool_view(name, sampled, len(live(sampled, glance.beats)), model.pool())
    lanes = lane_rows(name, sampled, model)
    alarms = [
        *alarms_of_pools([view], {name: sampled}, {name: glance.beats}, are_all=False),
        *lane_alarms(lanes, int(sampled["taken"])),
    ]
    told = dict.fromkeys((*(sampled.get("broken") or ()), *reader.broken.get(name, ())))
    return PoolDetail(
        view=view,
        now_ms=now,
        lanes=tuple(lanes),
        workers=tuple(worker_rows(now, glance.beats)),
        alarms=joined(alarms, [glance.alarms]),
        broken=broken_pools({name: told}, reader.silent),
    )
