"""What a person should look at, found in a pool's figures and in what its workers told. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from queueops.inspect.answers import Alarm, LaneRow, PoolView
from queueops.inspect.broken import Broken
from queueops.inspect.rates import pushed_names
from queueops.inspect.source import LATE_MS
from queueops.inspect.spans import span
from queueops.inspect.why import MOST_NAMES
from queueops.inspect.workers import names_of
from queueops.redis.facts import Beat
from queueops.states import State

BACKLOG = 100
"""Fewer ready tasks than this are no backlog, however they grow."""
GROWING = 1.1
NO_WATCHDOG_MS = 15_000


def pool_alarms(view: PoolView, sampled: Mapping[str, Any], beats: Sequence[Beat]) -> Iterator[Alarm]:
    """The alarms of one pool; the worst first."""
    live = [beat for beat in beats if sampled["taken"] - beat.beat_ms <= LATE_MS]
    yield from _unserved(view, live)
    yield from _overdue(view, sampled)
    yield from _unknown_names(view, sampled, live)
    yield from _watchdog(view, sampled)
    yield from _late(view, beats, live)
    yield from _growing(view)
    if count := sampled.get("given_up") or 0:
        yield _warning(f"Pool {view.name}: {count:,} commands to other pools were given up.", "commands?place=dead")
    if count := view.states.get(State.QUARANTINED, 0):
        hint = f"tasks/?state=quarantined&pool={view.name}"
        yield _warning(f"Pool {view.name}: {count:,} tasks are quarantined.", hint)


def broken_alarms(pools: Iterable[Broken]) -> Iterator[Alarm]:
    """Pools in which somebody else wrote."""
    for broken in pools:
        yield _danger(str(broken), f"tasks/?pool={broken.pool}")


def lane_alarms(rows: Sequence[LaneRow]) -> Iterator[Alarm]:
    """Paused lanes in which tasks wait."""
    for row in rows:
        if row.paused and row.ready:
            yield _warning(f"Lane {row.lane} of pool {row.pool} is paused; {row.ready:,} tasks wait.", "lanes")


def _unserved(view: PoolView, live: Sequence[Beat]) -> Iterator[Alarm]:
    waiting = view.states.get(State.PENDING, 0)
    if waiting and not live:
        yield _danger(f"Nobody serves the pool {view.name}: {waiting:,} tasks wait.", "workers")
    elif waiting and all(beat.fields.get("state") in ("quiet", "stopping") for beat in live):
        yield _warning(f"All workers of the pool {view.name} take no more work: {waiting:,} tasks wait.", "workers")


def _overdue(view: PoolView, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    if count := sampled.get("overdue") or 0:
        yield _danger(f"Pool {view.name}: {count:,} leases, delays or retentions are over 5 s overdue.", "health")


def _unknown_names(view: PoolView, sampled: Mapping[str, Any], live: Sequence[Beat]) -> Iterator[Alarm]:
    """Names that were pushed of late and that no live worker told; silent when one told as many as it may."""
    told = [names_of(beat) for beat in live]
    if not told or any(not names or len(names) >= MOST_NAMES for names in told):
        return
    for name in sorted(pushed_names(sampled) - {name for names in told for name in names})[:5]:
        yield _danger(f"No worker of the pool {view.name} knows the task {name[:100]}.", "workers")


def _watchdog(view: PoolView, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    tick = (sampled.get("clock") or {}).get("tick")
    if not sum(view.states.values()):
        return
    if tick is None:
        yield _warning(f"No watchdog has looked after the pool {view.name} yet; run `manage.py watchdog`.", "health")
    elif (age := sampled["taken"] - tick) > NO_WATCHDOG_MS:
        yield _warning(f"No watchdog looks after the pool {view.name}: the last one came {span(age)} ago.", "health")


def _late(view: PoolView, beats: Sequence[Beat], live: Sequence[Beat]) -> Iterator[Alarm]:
    if late := len(beats) - len(live):
        yield _warning(f"Pool {view.name}: {late} of {len(beats)} workers have not beaten for 15 s.", "workers")


def _growing(view: PoolView) -> Iterator[Alarm]:
    waiting = view.states.get(State.PENDING, 0)
    if waiting >= BACKLOG and view.drain_s is None and view.in_rate > view.out_rate * GROWING:
        pace = f"{view.in_rate:.1f}/s come, {view.out_rate:.1f}/s end"
        yield _warning(
            f"The backlog of the pool {view.name} grows: {waiting:,} wait, {pace}.",
            f"tasks/?state=pending&pool={view.name}",
        )


def _warning(text: str, hint: str) -> Alarm:
    return Alarm(level="warning", text=text, url_hint=hint)


def _danger(text: str, hint: str) -> Alarm:
    return Alarm(level="danger", text=text, url_hint=hint)
