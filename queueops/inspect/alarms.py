"""Alarms: conditions that need an operator, found in a pool's figures and its workers' heartbeats."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from queueops.inspect import expiry_alarms, follow_up_alarms, pool_message_alarms, schedule_alarms
from queueops.inspect.alarm import CHECK, Alarm, danger, manage, no_watchdog, warning
from queueops.inspect.answers import Broken
from queueops.inspect.lanes import LaneRow
from queueops.inspect.spans import span
from queueops.inspect.store import LATE_MS, NOT_TAKING
from queueops.inspect.throughput import PoolView, counted, pushed_names
from queueops.inspect.workers import fate_of, lanes_of, matches_lane, names_of, names_told, takes_kind
from queueops.model import kinds
from queueops.model.losses import SHOWN_MS, decode
from queueops.model.sentences import Figure, Sentence, join, say, say_n
from queueops.model.states import State
from queueops.redis.query_replies import Beat, whole

STUCK_MS = 60_000
MOST_PLACES = 3
"""The most workers that an alarm names."""


def live(sampled: Mapping[str, Any], beats: Sequence[Beat]) -> list[Beat]:
    """The workers with a recent heartbeat at the time of the sample."""
    return [beat for beat in beats if sampled["taken"] - beat.beat_ms <= LATE_MS]


def pool_alarms(view: PoolView, sampled: Mapping[str, Any], beats: Sequence[Beat]) -> Iterator[Alarm]:
    """The alarms of one pool, the worst first."""
    alive = live(sampled, beats)
    yield from _lost(view, sampled)
    yield from _unserved(view, alive)
    yield from _executors(view, alive)
    yield from _unserved_lanes(view, sampled, alive)
    yield from _unserved_kinds(view, sampled, alive)
    yield from _overdue(view, sampled)
    yield from _unknown_names(view, sampled, alive)
    yield from _watchdog(view, sampled)
    yield from _late(view, beats, alive)
    yield from _paused_names(view, sampled)
    for details in kinds.roles("details"):
        yield from details.alarms(view.name, sampled)
    yield from pool_message_alarms.alarms(view.name, sampled)
    yield from follow_up_alarms.alarms(view.name, sampled)
    yield from schedule_alarms.alarms(view.name, sampled)
    yield from expiry_alarms.alarms(view.name, sampled)
    if count := view.states.get(State.QUARANTINED, 0):
        hint = f"tasks/?state=quarantined&pool={view.name}"
        command = manage("queue", "requeue", "--state", "quarantined", "--pool", view.name)
        text = say_n(
            "Pool %(pool)s: %(n)s task is quarantined.",
            "Pool %(pool)s: %(n)s tasks are quarantined.",
            count,
            pool=view.name,
        )
        yield warning(text, hint, command, key=f"quarantined {view.name}")


def broken_alarms(pools: Iterable[Broken]) -> Iterator[Alarm]:
    """Pools that could not be read in full."""
    for broken in pools:
        hint = "health" if broken.reason or broken.pool == "*" else f"tasks/?pool={broken.pool}"
        command = manage(*CHECK) if broken.reason else manage("queue", "fsck", "--repair")
        yield danger(
            broken.sentence(), hint, command, key=f"broken {broken.pool}", pools=(broken.pool,) * (broken.pool != "*")
        )


def lane_alarms(rows: Sequence[LaneRow], now: int) -> Iterator[Alarm]:
    """Lanes with waiting tasks that are paused, or that have been at their limit or rate for long."""
    for row in rows:
        if row.paused and row.ready:
            text = say(
                "Lane %(lane)s of pool %(pool)s is paused; %(tasks)s.",
                lane=row.label,
                pool=row.pool,
                tasks=tasks_wait(row.ready),
            )
            resume = manage("queue", "resume", row.lane, "--pool", row.pool)
            target = f"{row.pool}/{row.lane}"
            yield warning(text, lane_page(row), resume, "resume_lane", target, key=f"lane {target}", pools=(row.pool,))
        elif (bound := bound_of(row)) and (waited := now - (row.oldest_ms or now)) > STUCK_MS:
            empty: str = ""
            if row.drain_s is not None:
                empty = say("; drains in about %(time)s if no more come", time=span(row.drain_s * 1000))
            text = say(
                "Lane %(lane)s of pool %(pool)s is at its %(bound)s: %(tasks)s, the first for %(waited)s%(empty)s.",
                lane=row.label,
                pool=row.pool,
                bound=bound,
                tasks=tasks_wait(row.ready),
                waited=span(waited),
                empty=empty,
            )
            yield warning(text, lane_page(row), raised(row), key=f"limit {row.pool}/{row.lane}", pools=(row.pool,))


def bound_of(row: LaneRow) -> str:
    """What keeps the waiting tasks of a lane from a start: `limit of 1` or `rate of 5/s`; empty if nothing does."""
    if row.ready and row.limit is not None and row.active >= row.limit:
        return say("limit of %(limit)s", limit=row.limit)
    if row.ready and row.rate is not None and (row.spent or row.start_rate >= 0.95 * row.rate):
        return say("rate of %(rate)s", rate=Figure(f"{row.rate:g}/s"))
    return ""


def lane_page(row: LaneRow) -> str:
    """The page of a lane, as the hint of an alarm."""
    return f"lane?pool={quote(row.pool)}&id={quote(row.lane)}"


def raised(row: LaneRow) -> str:
    """The command that raises what bounds a lane."""
    is_rate = bound_of(row).startswith("rate")
    option = ("--rate", _more(row.rate)) if is_rate else ("--limit", _more(row.limit))
    return manage("queue", "set-lane", row.lane, "--pool", row.pool, *option)


def _more(value: float | None) -> str:
    """A higher limit or rate, as a proposal."""
    return f"{max(1, 2 * (value or 0)):g}"


def _lost(view: PoolView, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """Acknowledged data that is missing from the store, as a watchdog noticed within the last day."""
    loss = decode(str(sampled.get("loss") or ""))
    if loss is not None and (age := sampled["taken"] - loss.at) <= SHOWN_MS:
        text = say(
            "Pool %(pool)s lost data that the store had acknowledged, %(age)s ago: %(loss)s. Tasks may be missing, and"
            " ended tasks may run again.",
            pool=view.name,
            age=span(age),
            loss=loss.sentence(),
        )
        mend = manage("queue", "fsck", "--repair", "--pool", view.name)
        if loss.stranded:  # a repair would forget the tasks whose records are there
            mend = f"redis-cli --cluster fix {loss.left_on}"
        yield danger(text, "health", mend, key=f"lost {view.name}")


def _unserved(view: PoolView, live: Sequence[Beat]) -> Iterator[Alarm]:
    waiting = view.states.get(State.PENDING, 0)
    start, key = manage("runworker", "--pool", view.name), f"unserved {view.name}"
    if waiting and not live:
        text = say("No live worker serves the pool %(pool)s: %(tasks)s.", pool=view.name, tasks=tasks_wait(waiting))
        yield danger(text, "workers", start, key=key)
    elif waiting and all(beat.fields.get("state") in NOT_TAKING for beat in live):
        text = say(
            "All workers of the pool %(pool)s are quiet, ending or silent: %(tasks)s.",
            pool=view.name,
            tasks=tasks_wait(waiting),
        )
        yield warning(text, "workers", start, key=key)


def _executors(view: PoolView, live: Sequence[Beat]) -> Iterator[Alarm]:
    """Workers whose executor cannot begin tasks, several times in a row."""
    failing = [beat for beat in live if beat.fields.get("executor")]
    if failing:
        text = say_n(
            "Pool %(pool)s: %(n)s worker begins no tasks%(places)s: its executor is not available: %(reason)s",
            "Pool %(pool)s: %(n)s workers begin no tasks%(places)s: their executor is not available: %(reason)s",
            len(failing),
            pool=view.name,
            places=places(failing),
            reason=failing[0].fields["executor"],
        )
        yield danger(text, "workers", manage("queue", "workers"), key=f"executor {view.name}")


def _unserved_lanes(view: PoolView, sampled: Mapping[str, Any], live: Sequence[Beat]) -> Iterator[Alarm]:
    """Lanes with waiting tasks that no live worker serves, because each was started with other lanes."""
    served = [lanes_of(beat) for beat in _taking(live)]
    waiting = {str(row["lane"]): int(row["ready"]) for row in sampled["lanes"] or () if int(row["ready"])}
    found = [lane for lane in waiting if served and not _is_served(lane, served)]
    if not found:
        return
    text = say(
        "No live worker serves the %(lanes)s of pool %(pool)s: %(tasks)s. Each was started with other --lanes.",
        lanes=_lanes_named(found),
        pool=view.name,
        tasks=tasks_wait(sum(waiting[lane] for lane in found)),
    )
    start = manage("runworker", "--pool", view.name, *_lane_options(found))
    yield danger(text, "lanes", start, key=f"lanes {view.name}")


def _unserved_kinds(view: PoolView, sampled: Mapping[str, Any], live: Sequence[Beat]) -> Iterator[Alarm]:
    """Kinds of waiting tasks that no live worker takes, because each was started with other kinds."""
    taking = _taking(live)
    waiting = {str(kind): int(count) for kind, count in (sampled.get("kinds") or {}).items()}
    missing = [kind for kind in waiting if taking and not any(takes_kind(beat, kind) for beat in taking)]
    for kind in missing:
        text = say(
            "No live worker of the pool %(pool)s takes the kind %(kind)s: %(tasks)s. Each was started with other"
            " --kinds.",
            pool=view.name,
            kind=kind,
            tasks=tasks_wait(waiting[kind]),
        )
        start = manage("runworker", "--pool", view.name, "--kinds", kind)
        yield danger(text, "workers", start, key=f"kind {kind} {view.name}")
    for kind, lanes in _lanes_without(sampled, taking, missing).items():
        text = say(
            "No live worker takes the kind %(kind)s from the %(lanes)s of pool %(pool)s. Those that take it were"
            " started with other --lanes.",
            kind=kind,
            lanes=_lanes_named(lanes),
            pool=view.name,
        )
        start = manage("runworker", "--pool", view.name, "--kinds", kind, *_lane_options(lanes))
        yield danger(text, "lanes", start, key=f"kind {kind} of lanes {view.name}")


def _lanes_without(sampled: Mapping[str, Any], taking: Sequence[Beat], told: Sequence[str]) -> dict[str, list[str]]:
    """By kind, the lanes where it waits and whose workers do not take it. A lane without any worker is told apart."""
    rows = sampled["lanes"] or ()
    kinds = {kind for row in rows for kind in row.get("kinds") or ()}.difference(told)
    served = [lanes_of(beat) for beat in taking]
    taken = {kind: [lanes_of(beat) for beat in taking if takes_kind(beat, kind)] for kind in kinds}
    found: dict[str, list[str]] = {}
    for row in rows:
        lane = str(row["lane"])
        for kind in row.get("kinds") or () if _is_served(lane, served) else ():
            if kind in taken and not _is_served(lane, taken[kind]):
                found.setdefault(kind, []).append(lane)
    return found


def _is_served(lane: str, served: Sequence[tuple[str, ...]]) -> bool:
    """Whether one of the workers with these patterns serves the lane; without any patterns it serves all."""
    return () in served or any(matches_lane(each, lane) for each in served)


def _taking(live: Sequence[Beat]) -> list[Beat]:
    return [beat for beat in live if beat.fields.get("state") not in NOT_TAKING]


def _lane_options(lanes: Sequence[str]) -> list[str]:
    """The options of a worker that serves these lanes; none, so that it serves all, if they are too many to name."""
    return [word for lane in lanes for word in ("--lanes", lane)] if len(lanes) <= MOST_PLACES else []


def _lanes_named(lanes: Sequence[str]) -> Sentence:
    names = ", ".join(lane[:100] for lane in lanes[:MOST_PLACES])
    if len(lanes) > MOST_PLACES:
        return say("lanes %(names)s and %(more)s more", names=names, more=len(lanes) - MOST_PLACES)
    return say("lane %(name)s", name=names) if len(lanes) == 1 else say("lanes %(names)s", names=names)


def _overdue(view: PoolView, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    if count := sampled.get("overdue") or 0:
        text = say_n(
            "Pool %(pool)s: %(n)s lease, delay or retention is over 5 s overdue.",
            "Pool %(pool)s: %(n)s leases, delays or retentions are over 5 s overdue.",
            count,
            pool=view.name,
        )
        yield danger(text, "health", manage("watchdog"), key=f"overdue {view.name}")


def _unknown_names(view: PoolView, sampled: Mapping[str, Any], live: Sequence[Beat]) -> Iterator[Alarm]:
    """Task names that no live worker reports: recently pushed ones, and ones that workers gave back as unknown.

    Nothing is said while a worker has not reported. A report may be cut: then only names that were given back count.
    """
    reports = [names_of(beat) for beat in live]
    if not reports or not all(reports):
        return
    told = {name for names in reports for name in names}
    names = set(counted(sampled, "unknown")) | (pushed_names(sampled) if names_told(live) else set())
    for name in sorted(names - told)[:5]:
        text = say("No worker of the pool %(pool)s knows the task %(name)s.", pool=view.name, name=name[:100])
        page = f"tasks?name={quote(name)}&pool={quote(view.name)}"
        yield danger(text, page, manage("queue", "tasks"), key=f"unknown {view.name}/{name[:100]}")


def _watchdog(view: PoolView, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    if sum(view.states.values()) and (told := no_watchdog(view.name, sampled)):
        command = manage("watchdog")
        text = say("%(told)s. Run `%(command)s`.", told=told, command=command)
        yield warning(text, "health", command, key="watchdog")


def _late(view: PoolView, beats: Sequence[Beat], live: Sequence[Beat]) -> Iterator[Alarm]:
    """Workers without a heartbeat, frozen and dead ones apart; none that a later worker has replaced."""
    late = unreplaced(beats, live)
    for fate, words in _FATES.items():
        rows = [beat for beat in late if fate_of(beat) == fate]
        if not rows:
            continue
        text = say_n(
            "Pool %(pool)s: %(late)s of %(n)s worker %(fate)s%(places)s.",
            "Pool %(pool)s: %(late)s of %(n)s workers %(fate)s%(places)s.",
            len(beats),
            pool=view.name,
            late=len(rows),
            fate=words[len(rows) > 1],
            places=places(rows),
        )
        command = resumed(rows) if fate == "frozen" else manage("runworker", "--pool", view.name)
        yield warning(text, "workers", command, key=f"late {fate} {rows[0].id}")


_FATES = {
    "frozen": (say("is frozen: its process is stopped"), say("are frozen: their processes are stopped")),
    "dead": (say("is dead: its process has ended"), say("are dead: their processes have ended")),
    "late": (say("has sent no heartbeat for 15 s"), say("have sent no heartbeat for 15 s")),
}


def places(beats: Sequence[Beat]) -> str:
    """Hosts and processes of the first workers in brackets, as far as they are known."""
    known = [
        say("%(host)s process %(pid)s", host=beat.fields["host"], pid=beat.fields["pid"])
        for beat in beats
        if {"host", "pid"} <= {*beat.fields}
    ]
    return join(" (", join(*known[:MOST_PLACES], by=", "), ")", by="") if known else ""


def resumed(beats: Sequence[Beat]) -> str:
    """The command that lets stopped processes run again, on their host."""
    return shlex.join(("kill", "-CONT", *(beat.fields.get("pid", "PID") for beat in beats[:MOST_PLACES])))


def unreplaced(beats: Sequence[Beat], live: Sequence[Beat]) -> list[Beat]:
    """The workers without a heartbeat for whom no other worker has been started since their last one.

    A deploy may start the successor before the end. One that has fallen silent itself counts only if it came after it.
    """
    names = {beat.id for beat in live}
    starts = sorted((whole(beat.fields.get("started")), LATE_MS * (beat.id in names)) for beat in beats)
    found = []
    for beat in sorted((beat for beat in beats if beat.id not in names), key=lambda beat: beat.beat_ms):
        successor = next((each for each in starts if sum(each) > beat.beat_ms), None)
        if successor is None:
            found.append(beat)
        else:
            starts.remove(successor)
    return found


def _paused_names(view: PoolView, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """Paused names whose tasks wait."""
    for row in sampled.get("paused_names") or ():
        name, waiting = str(row["name"]), int(row["waiting"])
        if waiting:
            oldest = row.get("oldest")
            waited = say(", the first for %(time)s", time=span(max(0, sampled["taken"] - oldest))) if oldest else ""
            text = say(
                "Task name %(name)s of pool %(pool)s is paused: %(tasks)s%(waited)s.",
                name=name[:100],
                pool=view.name,
                tasks=tasks_wait(waiting),
                waited=waited,
            )
            command = manage("queue", "resume", "--name", name, "--pool", view.name)
            target = f"{view.name}/{name}"
            yield warning(text, f"name?id={quote(name)}", command, "resume_name", target, key=f"paused-name {target}")


def tasks_wait(count: int) -> Sentence:
    """How many tasks wait, in words."""
    return say_n("%(n)s task waits", "%(n)s tasks wait", count)
