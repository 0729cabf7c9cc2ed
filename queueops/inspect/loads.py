"""Load: how much work waits in each pool, and what each task name did in the last minutes, as monitoring wants it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from queueops.inspect.answers import Answer
from queueops.inspect.estimates import Model, run_times
from queueops.inspect.snapshot import completed
from queueops.inspect.store import open_reader
from queueops.inspect.throughput import failures
from queueops.inspect.workers import MOST as WORKERS
from queueops.redis.reader import Glance

MOST_NAMES = 1000
"""The most names of all pools together: each is a label of a series that a monitoring system keeps."""
UNKNOWN_S = 1.0
"""Seconds that a waiting task counts while the run time of its lane is not known."""


class NameLoad(Answer, frozen=True, kw_only=True):
    """The attempts of one name that ended in this minute and the previous one."""

    name: str
    ended: int
    failed: int
    run_s: float | None  # the mean run time in seconds; None: no run has ended


class PoolLoad(Answer, frozen=True, kw_only=True):
    """What waits in one pool, and what its workers can take. Names with most attempts come first."""

    name: str
    waiting_s: float  # seconds of work that waits: waiting tasks and chunks, times the run time of their lanes
    slots: float  # of the workers that take work now
    names: tuple[NameLoad, ...]
    names_left: int  # how many more names ended attempts


def load(most_names: int = MOST_NAMES) -> tuple[PoolLoad, ...]:
    """The load of every pool that answers, with at most ``most_names`` names. Raises BrokerUnavailable."""
    reader = open_reader()
    names = reader.pools()
    found = reader.glance(names, WORKERS)
    samples, _ = completed(
        reader, names, {pool: each.snapshot for pool, each in found.items()}, int(time.time() * 1000)
    )
    named = sorted(
        (-row.ended, pool, row.name, row) for pool, sampled in samples.items() for row in _names(sampled, found[pool])
    )
    kept = [(pool, row) for _, pool, _, row in named[:most_names]]
    left = [pool for _, pool, _, _ in named[most_names:]]
    return tuple(_pool(pool, samples[pool], found[pool], kept, left.count(pool)) for pool in samples)


def _pool(
    pool: str, sampled: Mapping[str, Any], glance: Glance, kept: list[tuple[str, NameLoad]], left: int
) -> PoolLoad:
    model = Model(pool, sampled, glance.beats)
    return PoolLoad(
        name=pool,
        waiting_s=sum(
            line.waiting * (UNKNOWN_S if line.run_s is None else line.run_s) for line in model.lines.values()
        ),
        slots=model.slots,
        names=tuple(row for of, row in kept if of == pool),
        names_left=left,
    )


def _names(sampled: Mapping[str, Any], glance: Glance) -> list[NameLoad]:
    failed, ended = failures(sampled)
    times = run_times(sampled, glance.beats)
    return [
        NameLoad(name=name, ended=count, failed=failed[name], run_s=times[name] / 1000 if name in times else None)
        for name, count in ended.items()
        if name
    ]
