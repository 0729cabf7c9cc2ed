"""Metric families: what a scrape gets, from the same figures as the overview. All are gauges, of all pools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

import queueops
from queueops import inspect
from queueops.inspect import LaneRow, NameLoad, PoolLoad, PoolView, Snapshot

MOST_LANES = 1000
"""Lanes that become labels: those with most ready tasks."""
LEVELS = ("danger", "warning")

POOL: dict[str, tuple[str, Callable[[PoolView, int], float]]] = {
    "workers": ("Live workers.", lambda view, now: view.workers),
    "oldest_pending_seconds": (
        "Time since the oldest pending task became pending.",
        lambda view, now: max(0, now - view.oldest_pending_ms) / 1000 if view.oldest_pending_ms else 0,
    ),
    "pushed_per_second": ("Tasks pushed per second, over one minute.", lambda view, now: view.in_rate),
    "ended_per_second": ("Tasks ended per second, over one minute.", lambda view, now: view.out_rate),
    "failure_ratio": (
        "Share of the attempts of the last two minutes that failed, 0 to 1.",
        lambda view, now: view.failure_rate,
    ),
    "wait_p95_seconds": (
        "95 % of the tasks that began in the last two minutes had waited at most so long.",
        lambda view, now: (view.wait_p95_ms or 0) / 1000,
    ),
    "run_p95_seconds": (
        "95 % of the attempts of the last two minutes took at most so long.",
        lambda view, now: (view.run_p95_ms or 0) / 1000,
    ),
    "expired_tasks": ("Tasks that expired in this minute and the previous one.", lambda view, now: view.expired),
    "held_tasks": ("Waiting tasks that cannot start before an operator acts.", lambda view, now: view.held),
}
"""Name, text and value of the gauges of a pool."""
LOAD: dict[str, tuple[str, Callable[[PoolLoad], float]]] = {
    "waiting_seconds": (
        "Seconds of work that waits: waiting tasks times their mean run time. A task of unknown run time counts 1 s.",
        lambda load: load.waiting_s,
    ),
    "slots": ("Tasks that the live workers can run at the same time.", lambda load: load.slots),
    "names_omitted": ("Task names that ran and are in no series.", lambda load: load.names_left),
}
NAME: dict[str, tuple[str, Callable[[NameLoad], float | None]]] = {
    "name_ended_attempts": ("Attempts that ended in this minute and the previous one.", lambda row: row.ended),
    "name_failed_attempts": ("Attempts that failed in this minute and the previous one.", lambda row: row.failed),
    "name_run_seconds": ("Mean run time of these attempts.", lambda row: row.run_s),
}


class QueueOpsCollector(Collector):
    """Reads the store at each scrape. Register it where a project collects its own metrics.

    A scrape raises QueueOpsError if no pool answers.
    """

    def describe(self) -> list[Metric]:
        """Nothing is read when it is registered."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Every family, with the values of now."""
        found, loads = inspect.snapshot(), inspect.load()
        yield InfoMetricFamily("queueops", "Version of QueueOps.", {"version": queueops.__version__})
        yield from _of_all(found)
        yield from _of_pools(found.pools, found.taken_ms)
        yield from _of_lanes(found.lanes)
        yield from _of_loads(loads)
        yield from _of_names(loads)


def _of_all(found: Snapshot) -> Iterator[Metric]:
    alarms = GaugeMetricFamily("queueops_alarms", "Alarms now.", labels=["level"])
    for level in LEVELS:
        alarms.add_metric([level], sum(alarm.level == level for alarm in found.alarms))
    yield alarms
    silent = len({broken.pool for broken in found.broken})
    yield GaugeMetricFamily("queueops_broken_pools", "Pools that could not be read in full.", value=silent)


def _of_pools(views: Sequence[PoolView], now: int) -> Iterator[Metric]:
    tasks = GaugeMetricFamily("queueops_tasks", "Tasks by state.", labels=["pool", "state"])
    for view in views:
        for state, count in view.states.items():
            tasks.add_metric([view.name, state], count)
    yield tasks
    for name, (about, value) in POOL.items():
        family = GaugeMetricFamily(f"queueops_{name}", about, labels=["pool"])
        for view in views:
            family.add_metric([view.name], value(view, now))
        yield family


def _of_lanes(rows: Sequence[LaneRow]) -> Iterator[Metric]:
    kept = sorted(rows, key=lambda row: (-row.ready, row.pool, row.lane))[:MOST_LANES]
    for name, about in (("ready", "Tasks that wait in the lane."), ("active", "Tasks of the lane that run.")):
        family = GaugeMetricFamily(f"queueops_lane_{name}_tasks", about, labels=["pool", "lane"])
        for row in kept:
            family.add_metric([row.pool, row.lane], getattr(row, name))
        yield family


def _of_loads(loads: Sequence[PoolLoad]) -> Iterator[Metric]:
    for name, (about, value) in LOAD.items():
        family = GaugeMetricFamily(f"queueops_{name}", about, labels=["pool"])
        for load in loads:
            family.add_metric([load.name], value(load))
        yield family


def _of_names(loads: Sequence[PoolLoad]) -> Iterator[Metric]:
    rows: list[tuple[str, NameLoad]] = [(load.name, row) for load in loads for row in load.names]
    for name, (about, value) in NAME.items():
        family = GaugeMetricFamily(f"queueops_{name}", about, labels=["pool", "name"])
        for pool, row in rows:
            if (found := value(row)) is not None:
                family.add_metric([pool, row.name], found)
        yield family
