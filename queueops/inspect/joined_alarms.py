"""Joined alarms: one incident is one alarm, with its symptoms, and with all pools that it concerns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from queueops.inspect.alarm import Alarm, in_pools
from queueops.inspect.alarms import live, pool_alarms
from queueops.inspect.alert_alarms import alert_alarms
from queueops.inspect.busy_alarms import hanging_alarms, stuck_alarms
from queueops.inspect.clock_alarms import clock_alarms
from queueops.inspect.failing_alarms import failing_alarms
from queueops.inspect.growing_alarms import growing_alarms
from queueops.inspect.host_alarms import host_alarms
from queueops.inspect.key_alarms import key_alarms, noted_keys, process_alarms
from queueops.inspect.library_alarms import library_alarms
from queueops.inspect.named_hosts import names_host
from queueops.inspect.outbox import outbox_alarms
from queueops.inspect.own_work_alarms import own_work_alarms
from queueops.inspect.silent_alarms import silent_alarms
from queueops.inspect.throughput import PoolView
from queueops.model.sentences import join, say
from queueops.redis.query_replies import Beat

_NO_SLOTS = ("hanging", "stuck", "growing", "unserved", "lanes", "kind", "limit", "skipping", "expired")
FOLLOWS: dict[str, tuple[str, ...]] = {
    "full": ("overdue", "schedules", "own", "duty", "messages", "growing", "slow"),
    "slow": ("growing",),
    "watchdog": ("schedules", "overdue", "duty"),
    "library": _NO_SLOTS,
    "silent": _NO_SLOTS,
    "host": ("failing", "failing-pool", "growing"),
    "kills": ("late", *_NO_SLOTS),
    "late": _NO_SLOTS,
    "unserved": ("growing", "lanes", "kind", "expired"),
    "hanging": ("stuck", "growing", "limit", "skipping", "expired"),
    "lane": ("growing",),
    "limit": ("growing",),
    "paused-name": ("growing",),
}
"""What follows from a cause in the same pools, by their kinds."""
MORE_SLOTS = "manage.py runworker"
"""The remedy of a backlog that has no other cause than too few slots."""


def alarms_of_pools(
    views: Sequence[PoolView],
    samples: Mapping[str, Mapping[str, Any]],
    beats: Mapping[str, Sequence[Beat]],
    *,
    are_all: bool = True,
) -> Iterator[Alarm]:
    """The alarms of these pools, without those of their lanes. If these are all pools, also what is about no pool."""
    if are_all:
        yield from outbox_alarms()
    yield from failing_alarms(samples)
    yield from host_alarms(samples)
    yield from hanging_alarms(views, samples, beats)
    yield from clock_alarms(samples, beats)
    workers = [beat for of_pool in beats.values() for beat in of_pool]
    noted = noted_keys(workers)
    if are_all:
        yield from process_alarms(noted, workers)
    for view in views:
        for alarm in _of_pool(view, samples[view.name], beats.get(view.name, ()), noted):
            yield structs.replace(alarm, pools=(view.name,))


def _of_pool(
    view: PoolView, sampled: Mapping[str, Any], beats: Sequence[Beat], noted: Sequence[Sequence[str]]
) -> Iterator[Alarm]:
    yield from own_work_alarms(view.name, sampled)
    yield from alert_alarms(sampled)
    yield from library_alarms(view.name, sampled, beats)
    yield from key_alarms(view.name, sampled, beats, noted)
    yield from pool_alarms(view, sampled, beats)
    yield from silent_alarms(view.name, sampled, beats)
    yield from stuck_alarms(view, sampled, live(sampled, beats))
    yield from growing_alarms(view, sampled, beats)


def joined(found: Iterable[Alarm], begun: Iterable[Mapping[str, int]]) -> tuple[Alarm, ...]:
    """One alarm for each cause, the worst first. `begun`: when each began, by key, as each watchdog reports it."""
    reports, alarms = list(begun), list(found)
    causes = {id(alarm): _cause_of(alarm, alarms) for alarm in alarms}
    by_key: dict[str, list[Alarm]] = {}
    for alarm in alarms:
        if causes[id(alarm)] is None:
            by_key.setdefault(alarm.key, []).append(alarm)
    made = []
    for same in by_key.values():
        follow = [alarm for alarm in alarms if (cause := causes[id(alarm)]) is not None and cause.key == same[0].key]
        made.append(_dated(_one(same, follow), reports))
    return tuple(sorted(made, key=lambda alarm: (alarm.level != "danger", -alarm.failed)))


def _cause_of(alarm: Alarm, alarms: Sequence[Alarm]) -> Alarm | None:
    """The first cause of an alarm: that of its cause, if that has one."""
    for cause in alarms:
        if cause is not alarm and _follows(alarm, cause):
            return _cause_of(cause, [each for each in alarms if each is not alarm]) or cause
    return None


def _follows(alarm: Alarm, cause: Alarm) -> bool:
    if not set(alarm.pools) <= set(cause.pools or alarm.pools):
        return False
    if alarm.key in cause.followers:
        return True
    if alarm.kind not in FOLLOWS.get(cause.kind, ()):
        return False
    if cause.kind == "host":
        return names_host(alarm.text, cause.key.removeprefix("host "))
    if alarm.kind != "growing":
        return True
    needs_slots = alarm.command.startswith(MORE_SLOTS)
    return alarm.url_hint == cause.url_hint if cause.kind in ("lane", "limit", "paused-name") else needs_slots


def _one(same: Sequence[Alarm], follow: Sequence[Alarm]) -> Alarm:
    """The same cause of some pools, with what follows from it."""
    first = same[0]
    pools = tuple(dict.fromkeys(pool for alarm in same for pool in alarm.pools))
    more = [pool for pool in pools if pool not in first.pools]
    text = join(first.text, say("The same in %(pools)s.", pools=in_pools(more))) if more else first.text
    worst = min((alarm.level for alarm in (*same, *follow)), key=("danger", "warning").index)
    told = tuple(dict.fromkeys(alarm.text for alarm in follow))
    followers = tuple(dict.fromkeys(alarm.key for alarm in follow))
    return structs.replace(first, text=text, level=worst, pools=pools, consequences=told, followers=followers)


def _dated(alarm: Alarm, reports: Sequence[Mapping[str, int]]) -> Alarm:
    known = [told[alarm.key] for told in reports if alarm.key in told]
    return structs.replace(alarm, since_ms=min(known)) if known and alarm.since_ms is None else alarm
