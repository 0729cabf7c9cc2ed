"""Joined alarms: all alarms of some pools, each with its pools and its begin; one alarm for one cause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from queueops.inspect.alarm import Alarm
from queueops.inspect.alarms import pool_alarms
from queueops.inspect.library_alarms import library_alarms
from queueops.inspect.own_work_alarms import own_work_alarms
from queueops.inspect.silent_alarms import silent_alarms
from queueops.inspect.throughput import PoolView
from queueops.redis.query_replies import Beat


def alarms_of_pools(
    views: Iterable[PoolView], samples: Mapping[str, Mapping[str, Any]], beats: Mapping[str, Sequence[Beat]]
) -> Iterator[Alarm]:
    """The alarms of these pools, without those of their lanes."""
    for view in views:
        for alarm in _of_pool(view, samples[view.name], beats.get(view.name, ())):
            yield structs.replace(alarm, pools=(view.name,))


def _of_pool(view: PoolView, sampled: Mapping[str, Any], beats: Sequence[Beat]) -> Iterator[Alarm]:
    yield from own_work_alarms(view.name, sampled)
    yield from library_alarms(view.name, sampled, beats)
    yield from pool_alarms(view, sampled, beats)
    yield from silent_alarms(view.name, sampled, beats)


def joined(found: Iterable[Alarm], begun: Iterable[Mapping[str, int]]) -> tuple[Alarm, ...]:
    """The alarms, the worst first. `begun`: when each began, by key, as the watchdog of each pool reports it."""
    reports = list(begun)
    return tuple(sorted((_dated(alarm, reports) for alarm in found), key=_rank))


def _dated(alarm: Alarm, reports: Sequence[Mapping[str, int]]) -> Alarm:
    known = [told[alarm.key] for told in reports if alarm.key in told]
    return structs.replace(alarm, since_ms=min(known)) if known and alarm.since_ms is None else alarm


def _rank(alarm: Alarm) -> tuple[bool, int]:
    return alarm.level != "danger", -alarm.failed
