"""Task view and system status in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from queueops.inspect import Alarm, LaneRow, PoolView, Snapshot, TaskDetail
from queueops.inspect.estimates import UNKNOWN
from queueops.inspect.spans import span
from queueops.management.queue.formatting import moment, pairs, printable, table
from queueops.model import kinds

POOLS = ("IN/S", "OUT/S", "FAILED", "WAIT P95", "RUN P95", "DRAINS IN", "WORKERS")

MOST_CHANGED = 10
"""The most lanes for which the command is told that gives them the values of the settings."""


def shown_task(task: TaskDetail) -> str:
    """One task: its facts, arguments, result or error, attempts and log."""
    facts = pairs(
        (
            ("id", task.id),
            ("name", f"{task.name} ({task.kind})"),
            ("state", f"{task.state} since {moment(task.entered_ms)}"),
            ("reason", task.reason),
            *_claimed(task),
            ("created", moment(task.created_ms)),
            ("due", moment(task.due_ms)),
            ("begun", moment(task.begun_ms)),
            ("ended", moment(task.ended_ms)),
            ("kept or leased until", moment(task.deadline_ms)),
            ("worker", task.worker),
            ("progress", None if task.progress is None else _progress(task.progress, task.total)),
            ("tags", ", ".join(task.tags)),
            ("parent", task.parent),
            *(line for brought in kinds.roles("details") for line in brought.lines(task)),
            *_follow_ups(task),
            ("can be", ", ".join(task.allowed)),
        )
    )
    blocks = (("arguments", task.args_json), ("result", task.result_json), ("metadata", task.meta))
    parts = [facts, *(_block(*block) for block in blocks)]
    if task.error:
        what = "error of an earlier attempt" if task.error_is_earlier else "error"
        parts.append(_block(what, task.error.traceback or f"{task.error.type}: {task.error.message}"))
    parts.append(_block("log", "\n".join(f"{moment(line.t)}  {line.kind}  {line.text}" for line in task.log)))
    return "\n\n".join(part for part in parts if part)


def _progress(done: float, total: float | None) -> str:
    return f"{done:,.10g} of {total:,.10g}" if total else f"{done:,.10g} of ?"


def _claimed(task: TaskDetail) -> tuple[tuple[str, object], ...]:
    """Its lane and its attempts; a chain and a group have parts instead."""
    if not task.is_claimed:
        ended = None if task.parts is None else f"{task.parts_ended:,} of {task.parts:,} have ended"
        return ("pool", task.pool), ("parts", ended), ("when a part fails", task.on_failure)
    return (
        ("pool, lane", f"{task.pool}, {task.lane}"),
        ("priority", task.priority),
        ("attempts", f"{task.attempt} of {task.retries + 1} failed, starts lost: {task.crashes}"),
    )


def shown_status(found: Snapshot) -> str:
    """The whole system: alarms, states, pools, lanes."""
    well = "Everything is well." if any(pool.workers for pool in found.pools) else "No alarm. No worker is running."
    alarms = "\n".join(map(_alarm, found.alarms)) or well
    states = pairs((state, f"{count:,}") for state, count in found.states.items() if count)
    columns = [column for figures in kinds.roles("parts.figures") for column in figures.COLUMNS]
    head = ("POOL", "WAITING", *(title for title, _ in columns), *POOLS)
    pools = table(head, [_pool(pool, [attribute for _, attribute in columns]) for pool in found.pools])
    lanes = table(
        ("LANE", "POOL", "READY", "ACTIVE", "LIMIT", "RATE", "SET BY", "PAUSED", "DRAINS IN"),
        map(_lane, found.lanes),
    )
    store = f"{found.redis.version}, {found.redis.used_memory / 2**20:.1f} MB, {found.redis.ops}/s"
    store += f", library {found.redis.library}{'' if found.redis.functions else ' as scripts: slower'}"
    watched = "counted now: no watchdog runs" if found.computed else "by the watchdog"
    notes = "\n".join(f"{pool.name}: {printable(note)}" for pool in found.pools for note in pool.notes)
    listed = (alarms, states or "no tasks", pools, notes, lanes if found.lanes else "", removals(found.lanes))
    parts = (*listed, f"{store} ({watched})")
    return "\n\n".join(part for part in parts if part)


def removals(lanes: Iterable[LaneRow]) -> str:
    """How the first lanes with other values than the settings say get those."""
    changed = [lane for lane in lanes if lane.origin][:MOST_CHANGED]
    return "\n".join(f"{printable(lane.pool)}/{printable(lane.label)}: {lane.removal}" for lane in changed)


def _alarm(alarm: Alarm) -> str:
    """An alarm with what follows from it, and the command that mends it."""
    lines = [f"{alarm.level.upper()}: {printable(alarm.text)}", *map(printable, alarm.consequences)]
    told = "\n    so: ".join(lines)
    return f"{told}\n    mend it: {printable(alarm.command)}" if alarm.command else told


def _pool(pool: PoolView, of_kinds: Sequence[str]) -> tuple[object, ...]:
    drained = _drained(pool)
    rates = f"{pool.in_rate:.1f}", f"{pool.out_rate:.1f}", f"{pool.failure_rate:.1%}"
    waiting = pool.states.get("pending", 0), *(getattr(pool, attribute) for attribute in of_kinds)
    return pool.name, *waiting, *rates, _ms(pool.wait_p95_ms), _ms(pool.run_p95_ms), drained, pool.workers


def _drained(row: PoolView | LaneRow) -> str:
    """The time to empty, or why it is never or not known."""
    if row.drain_s is not None:
        return span(row.drain_s * 1000)
    if row.drain_reason == UNKNOWN:
        return f"unknown: {row.drain_reason}"
    return f"never: {row.drain_reason}" if row.drain_reason else "-"


def _lane(lane: LaneRow) -> tuple[object, ...]:
    rate = None if lane.rate is None else f"{lane.rate:g}/s{' (used up)' if lane.spent else ''}"
    return (
        lane.label,
        lane.pool,
        lane.ready,
        lane.active,
        lane.limit,
        rate,
        lane.told_origin,
        "paused" if lane.paused else "",
        _drained(lane),
    )


def _block(title: str, text: str) -> str:
    if not text:
        return ""
    return f"{title}:\n" + "\n".join(f"  {line}" for line in printable(text, lines=True).splitlines())


def _ms(value: float | None) -> str:
    return "-" if value is None else span(value)


def _follow_ups(task: TaskDetail) -> Iterable[tuple[str, object]]:
    """What its end is to push, what its last end has pushed, and what it follows."""
    return (
        ("follows", f"{task.follows} ({task.follows_outcome})" if task.follows else ""),
        ("on its end", "; ".join(f"{' or '.join(each.outcomes)}: {each.name}" for each in task.follow_ups)),
        ("followed by", ", ".join(each.id for each in task.followed_by)),
        ("follow-ups not pushed", task.follow_ups_dead or None),
    )
