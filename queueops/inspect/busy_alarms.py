"""Alarms of busy workers: tasks that hang in all slots, and slots in which no task ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from queueops.inspect.alarm import Alarm, danger, in_pools, manage
from queueops.inspect.alarms import STUCK_MS, live, tasks_wait
from queueops.inspect.spans import span
from queueops.inspect.store import UNRESPONSIVE
from queueops.inspect.throughput import PoolView, flows
from queueops.inspect.workers import RunningTask, running_of
from queueops.model import kinds
from queueops.model.samples import usual_ms
from queueops.model.sentences import say
from queueops.model.states import State, held
from queueops.redis.query_replies import Beat, whole

HANGING_MS, TIMES_USUAL = 10_000, 10
"""A task hangs if it has run for so long, and so many times longer than its name usually does."""


def hanging_alarms(
    views: Sequence[PoolView], samples: Mapping[str, Mapping[str, Any]], beats: Mapping[str, Sequence[Beat]]
) -> Iterator[Alarm]:
    """The names whose tasks hang in most slots, while all slots of a pool are busy and tasks wait."""
    full = [view.name for view in views if _is_full(view, samples[view.name], beats.get(view.name, ()))]
    workers = {beat.id: (beat, samples[pool]) for pool in full for beat in live(samples[pool], beats.get(pool, ()))}
    slots = sum(whole(beat.fields.get("slots")) for beat, _ in workers.values())
    hanging = [
        (task, beat.beat_ms - task.since_ms)
        for beat, sampled in workers.values()
        for task in running_of(beat)
        if _hangs(task, beat.beat_ms - task.since_ms, samples.get(task.pool, sampled))
    ]
    for name, count in Counter(task.name for task, _ in hanging).most_common(1):
        if 2 * count >= slots:
            shortest = min(ms for task, ms in hanging if task.name == name)
            usual = min(filter(None, (usual_ms(samples[pool], name) for pool in full)), default=None)
            pending = sum(view.states.get(State.PENDING, 0) for view in views if view.name in full)
            yield _hanging(name, full, (count, slots), shortest, usual, pending)


def _is_full(view: PoolView, sampled: Mapping[str, Any], beats: Sequence[Beat]) -> bool:
    """Whether all slots of a pool are busy, and tasks wait for one."""
    alive = [beat for beat in live(sampled, beats) if beat.fields.get("state") not in UNRESPONSIVE]
    slots, busy = (sum(whole(beat.fields.get(field)) for beat in alive) for field in ("slots", "busy"))
    return bool(view.states.get(State.PENDING)) and 0 < slots <= busy


def _hangs(task: RunningTask, ran_ms: float, sampled: Mapping[str, Any]) -> bool:
    """Of a name without a past: after a minute, if no task of the pool ends."""
    usual = usual_ms(sampled, task.name)
    if usual is None:
        return ran_ms > STUCK_MS and not _moves_on(sampled)
    return ran_ms > max(HANGING_MS, TIMES_USUAL * usual)


def _hanging(
    name: str, pools: Sequence[str], taken: tuple[int, int], ran_ms: float, usual: float | None, pending: int
) -> Alarm:
    busy, slots = taken
    text = say(
        "%(busy)s of %(slots)s slots of %(pools)s run %(name)s for over %(ran)s%(past)s: %(waiting)s.",
        busy=busy,
        slots=slots,
        pools=in_pools(pools),
        name=name[:100],
        ran=span(ran_ms),
        past=say(", which usually takes %(usual)s", usual=span(usual)) if usual is not None else "",
        waiting=tasks_wait(pending),
    )
    place = ("--pool", *pools) if len(pools) == 1 else ()
    where = f"&pool={quote(pools[0])}" if place else ""
    command = manage("queue", "cancel", "--name", name, "--state", "locked", "--hard", *place)
    return danger(
        text,
        f"tasks?state=locked&name={quote(name)}{where}",
        command,
        verb="interrupt_name",
        target=f"{place[-1] if place else ''}/{name}",
        key=f"hanging {name[:100]}",
        pools=tuple(pools),
    )


def stuck_alarms(view: PoolView, sampled: Mapping[str, Any], alive: Sequence[Beat]) -> Iterator[Alarm]:
    """Workers that are all busy while no task ends: their tasks hang, or take very long."""
    slots, busy = (sum(whole(beat.fields.get(field)) for beat in alive) for field in ("slots", "busy"))
    waited = sampled["taken"] - (view.oldest_pending_ms or sampled["taken"])
    if slots and busy >= slots and waited > STUCK_MS and not _moves_on(sampled):
        text = say(
            "All %(slots)s worker slots of pool %(pool)s are busy, and no task ended within a minute: %(waiting)s, the"
            " first for %(waited)s.",
            slots=slots,
            pool=view.name,
            waiting=tasks_wait(view.states.get(State.PENDING, 0)),
            waited=span(waited),
        )
        yield danger(text, "workers", manage("runworker", "--pool", view.name), key=f"stuck {view.name}")


def _moves_on(sampled: Mapping[str, Any]) -> bool:
    """Whether any task, or a part of one, left a running state within the last minute."""
    running = held()
    of_parts = (figures.moves(sampled) for figures in kinds.roles("parts.figures"))
    moves = (move for found in (flows(sampled), *of_parts) for move in found.items())
    return any(rate and flow.partition(">")[0] in running for flow, rate in moves)
