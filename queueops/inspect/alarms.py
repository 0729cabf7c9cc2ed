"""Alarms: conditions that need an operator, found in a pool's figures and its workers' heartbeats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from queueops.inspect.answers import Answer, Broken
from queueops.inspect.lanes import LaneRow
from queueops.inspect.spans import span
from queueops.inspect.store import LATE_MS, NOT_TAKING, UNRESPONSIVE
from queueops.inspect.throughput import PoolView, failures, flows, pushed_names
from queueops.inspect.workers import names_told
from queueops.model.losses import SHOWN_MS, decode
from queueops.model.states import LEASED, ChunkState, State
from queueops.redis.query_replies import Beat, whole

FAILING, LEAST_FAILED = 0.5, 10
"""From this share and this number of failed attempts on, the cause concerns more than one task: an alarm."""
STUCK_MS = 60_000
BACKLOG = 100
"""Fewer ready tasks than this are not a backlog, however fast their number grows."""
GROWING, LASTING_S = 1.1, 60.0
"""Arrivals per end from which a backlog grows. One that is empty within a minute is a burst."""
NO_WATCHDOG_MS = 15_000


class Alarm(Answer, frozen=True, kw_only=True):
    """A condition that needs an operator."""

    TEXTS: ClassVar = ("text",)

    level: str  # warning, danger
    text: str
    url_hint: str = ""  # page with more about it: workers, lanes, tasks?..., health


def warning(text: str, hint: str) -> Alarm:
    """A condition to look at; `hint` is the page with more about it."""
    return Alarm(level="warning", text=text, url_hint=hint)


def danger(text: str, hint: str) -> Alarm:
    """A condition that loses work, or stops it."""
    return Alarm(level="danger", text=text, url_hint=hint)


def live(sampled: Mapping[str, Any], beats: Sequence[Beat]) -> list[Beat]:
    """The workers with a recent heartbeat at the time of the sample."""
    return [beat for beat in beats if sampled["taken"] - beat.beat_ms <= LATE_MS]


def pool_alarms(view: PoolView, sampled: Mapping[str, Any], beats: Sequence[Beat]) -> Iterator[Alarm]:
    """The alarms of one pool, the worst first."""
    alive = live(sampled, beats)
    yield from _lost(view, sampled)
    yield from _unserved(view, alive)
    yield from _stuck(view, sampled, alive)
    yield from _failing(view, sampled)
    yield from _overdue(view, sampled)
    yield from _unknown_names(view, sampled, alive)
    yield from _watchdog(view, sampled)
    yield from _late(view, beats, alive)
    yield from _silent(view, sampled, alive)
    yield from _growing(view)
    if count := sampled.get("given_up") or 0:
        told = _some(count, "command to another pool was given up", "commands to other pools were given up")
        yield warning(f"Pool {view.name}: {told}.", "commands?place=dead")
    if count := view.states.get(State.QUARANTINED, 0):
        hint = f"tasks/?state=quarantined&pool={view.name}"
        yield warning(f"Pool {view.name}: {_some(count, 'task is quarantined', 'tasks are quarantined')}.", hint)


def broken_alarms(pools: Iterable[Broken]) -> Iterator[Alarm]:
    """Pools that could not be read in full."""
    for broken in pools:
        yield danger(str(broken), "health" if broken.reason or broken.pool == "*" else f"tasks/?pool={broken.pool}")


def lane_alarms(rows: Sequence[LaneRow]) -> Iterator[Alarm]:
    """Paused lanes with waiting tasks."""
    for row in rows:
        if row.paused and row.ready:
            yield warning(f"Lane {row.lane} of pool {row.pool} is paused; {_waiting(row.ready)}.", "lanes")


def _lost(view: PoolView, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """Acknowledged data that is missing from the store, as a watchdog noticed within the last day."""
    loss = decode(str(sampled.get("loss") or ""))
    if loss is not None and (age := sampled["taken"] - loss.at) <= SHOWN_MS:
        text = f"Pool {view.name} lost data that the store had acknowledged, {span(age)} ago: {loss}."
        yield danger(f"{text} Tasks may be missing, and ended tasks may run again.", "health")


def _unserved(view: PoolView, live: Sequence[Beat]) -> Iterator[Alarm]:
    waiting = view.states.get(State.PENDING, 0)
    if waiting and not live:
        yield danger(f"No live worker serves the pool {view.name}: {_waiting(waiting)}.", "workers")
    elif waiting and all(beat.fields.get("state") in NOT_TAKING for beat in live):
        yield warning(
            f"All workers of the pool {view.name} are quiet, ending or silent: {_waiting(waiting)}.", "workers"
        )


def _stuck(view: PoolView, sampled: Mapping[str, Any], live: Sequence[Beat]) -> Iterator[Alarm]:
    """Workers that are all busy while no task ends: their tasks hang, or take very long."""
    slots, busy = (sum(whole(beat.fields.get(field)) for beat in live) for field in ("slots", "busy"))
    waited = sampled["taken"] - (view.oldest_pending_ms or sampled["taken"])
    if slots and busy >= slots and waited > STUCK_MS and not _moves_on(sampled):
        text = f"All {slots:,} worker slots of pool {view.name} are busy, and no task ended"
        waiting = _waiting(view.states.get(State.PENDING, 0))
        yield danger(f"{text} within a minute: {waiting}, the first for {span(waited)}.", "workers")


def _moves_on(sampled: Mapping[str, Any]) -> bool:
    """Whether any task or chunk left a running state within the last minute."""
    moves = [*flows(sampled).items(), *flows(sampled, "ch").items()]
    return any(rate and flow.partition(">")[0] in (*LEASED, ChunkState.ACTIVE) for flow, rate in moves)


def _failing(view: PoolView, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    failed, ended = failures(sampled)
    bad = sum(failed.values())
    if bad >= LEAST_FAILED and bad >= FAILING * ended:
        name, most = failed.most_common(1)[0]
        text = f"Pool {view.name}: {bad:,} of {ended:,} attempts of the last two minutes failed"
        yield warning(f"{text}, {most:,} of them of {name[:100]}.", "errors")


def _overdue(view: PoolView, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    if count := sampled.get("overdue") or 0:
        told = _some(count, "lease, delay or retention is", "leases, delays or retentions are")
        yield danger(f"Pool {view.name}: {told} over 5 s overdue.", "health")


def _unknown_names(view: PoolView, sampled: Mapping[str, Any], live: Sequence[Beat]) -> Iterator[Alarm]:
    """Recently pushed task names that no live worker reported; no alarm if a worker's report may be cut."""
    told = names_told(live)
    if not told:
        return
    for name in sorted(pushed_names(sampled) - {name for names in told for name in names})[:5]:
        yield danger(f"No worker of the pool {view.name} knows the task {name[:100]}.", "workers")


def _watchdog(view: PoolView, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    tick = (sampled.get("clock") or {}).get("tick")
    if not sum(view.states.values()):
        return
    if tick is None:
        yield warning(f"No watchdog has served the pool {view.name} yet. Run `manage.py watchdog`.", "health")
    elif (age := sampled["taken"] - tick) > NO_WATCHDOG_MS:
        yield warning(f"No watchdog serves the pool {view.name}: the last one ran {span(age)} ago.", "health")


def _late(view: PoolView, beats: Sequence[Beat], live: Sequence[Beat]) -> Iterator[Alarm]:
    if late := len(beats) - len(live):
        told = f"{late} of {_some(len(beats), 'worker', 'workers')} {'has' if late == 1 else 'have'}"
        yield warning(f"Pool {view.name}: {told} sent no heartbeat for 15 s.", "workers")


def _silent(view: PoolView, sampled: Mapping[str, Any], live: Sequence[Beat]) -> Iterator[Alarm]:
    """Processes without a sign of life: their supervisor reports for them, so they are not late."""
    silent = [beat for beat in live if beat.fields.get("state") in UNRESPONSIVE]
    longest = max((sampled["taken"] - whole(beat.fields.get("silent_since")) for beat in silent), default=0)
    if longest > LATE_MS:
        told = _some(len(silent), "worker process is", "worker processes are")
        yield danger(f"Pool {view.name}: {told} silent, the longest for {span(longest)}.", "workers")


def _growing(view: PoolView) -> Iterator[Alarm]:
    waiting = view.states.get(State.PENDING, 0)
    lasts = view.drain_s is None or view.drain_s > LASTING_S
    if waiting >= BACKLOG and lasts and view.in_rate > view.out_rate * GROWING:
        pace = f"{view.in_rate:.1f}/s arrive, {view.out_rate:.1f}/s end"
        yield warning(
            f"The backlog of the pool {view.name} grows: {waiting:,} tasks wait, {pace}.",
            f"tasks/?state=pending&pool={view.name}",
        )


def _waiting(count: int) -> str:
    return _some(count, "task waits", "tasks wait")


def _some(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"
