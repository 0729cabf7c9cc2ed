"""Schedule questions: next runs, history and problems of each schedule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import msgspec

from queueops import conf
from queueops.errors import BrokenPool
from queueops.inspect.answers import Answer, Listing, broken_pools
from queueops.inspect.redaction import redactor
from queueops.inspect.store import open_reader, parameters, pools_of
from queueops.redis.broker import get_role, in_role
from queueops.redis.broker.schedules import ScheduleCalls
from queueops.redis.reader import Reader
from queueops.schedules.backfill import backfill_ticks
from queueops.schedules.cron import read_timetable
from queueops.schedules.definition import Schedules, ScheduleState
from queueops.schedules.words import in_words
from queueops.tasks.code_schedules import in_code, known_names, note_on, unkept
from queueops.tasks.declared_schedules import task_names

__all__ = [
    "Backfill",
    "ScheduleDetail",
    "ScheduleEvent",
    "ScheduleRow",
    "backfill",
    "in_words",
    "next_runs",
    "preview",
    "schedulable",
    "schedule",
    "schedules",
    "unkept_schedules",
]

LATE_MS = 15_000
"""A tick this far in the past was not seen by any watchdog."""
MOST_SHOWN = 100
LATEST_MS = 1e14


class ScheduleEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event of a schedule: FIRED, SKIPPED, FULL or MISSED.

    FIRED has the `task` and its present state; `who` names the user who ran it by hand. SKIPPED and FULL stand for
    `count` ticks, the last one at `tick_ms`; `task` is the run that had not ended. MISSED stands for `count` ticks, the
    first one at `tick_ms`.
    """

    t: int
    word: str
    tick_ms: int | None = None
    task: str = ""
    state: str = ""
    count: int = 1
    who: str = ""


class ScheduleRow(Answer, frozen=True, kw_only=True):
    """One schedule.

    `condition` is active, late (no watchdog fires it), paused, removed (gone from the code) or broken.
    """

    TEXTS: ClassVar = ("broken", "note")

    id: str
    pool: str
    condition: str
    task: str = ""
    kind: str = ""
    line: str = ""
    words: str = ""  # the line in words, or the line itself if it is unusual
    zone: str = ""
    jitter_ms: int = 0
    catch_up: str = ""
    overlap: str = ""
    source: str = ""
    args: str = ""
    next_ms: int | None = None
    last_ms: int | None = None
    last_task: str = ""
    last_state: str = ""
    fired: int = 0
    skipped: int = 0
    missed: int = 0
    queued: int = 0
    paused_ms: int | None = None
    paused_by: str = ""
    removed_ms: int | None = None
    broken: str = ""
    note: str = ""  # what the code says of it that the store does not know


class ScheduleDetail(ScheduleRow, frozen=True, kw_only=True):
    """A schedule in full.

    `args_json` is redacted; `runs` are the times of the next runs, `version` guards an edit.
    """

    version: str = ""
    args_json: str = ""
    lane: str = ""
    priority: int = 0
    created_ms: int | None = None
    edited_ms: int | None = None
    edited_by: str = ""
    runs: tuple[int, ...] = ()
    history: tuple[ScheduleEvent, ...] = ()


def schedules(pool: str = "") -> Listing[ScheduleRow]:
    """The schedules of a pool or of all, by their next run; those without a next run come last."""
    code, names = in_code(), known_names()
    reader = open_reader()
    broken: dict[str, tuple[str, ...]] = {}
    found = [
        ScheduleRow(**_facts(state, now_ms), note=note_on(state, code, names))
        for now_ms, state in _states(reader, pool, broken)
    ]
    rows = sorted(found, key=lambda row: (row.next_ms is None, row.next_ms, row.id, row.pool))
    return Listing(rows, broken_pools(broken, reader.silent))


def unkept_schedules() -> tuple[str, ...]:
    """The ids of schedules in this process's code that no watchdog has stored yet. They are for the own store alone."""
    return () if conf.store_name() else unkept([state for _, state in _states(open_reader(), "", {})], in_code())


def _states(reader: Reader, pool: str, broken: dict[str, tuple[str, ...]]) -> Iterator[tuple[int, ScheduleState]]:
    """Each schedule with the store's time; adds pools that could not be searched to `broken`, with the reason."""
    for name, answer in _asked(reader, pools_of(reader, pool), "all").items():
        if isinstance(answer, BrokenPool):  # the other pools may have schedules too
            broken[name] = (answer.keys,)
            continue
        for state in answer.rows:
            yield answer.now_ms, state


def _asked(reader: Reader, pools: Sequence[str], which: str, id: str = "") -> dict[str, Schedules | BrokenPool]:
    """The schedules of each pool, or the error of a broken pool, in one round trip to each server."""
    store = in_role(reader.broker, ScheduleCalls)
    replies = reader.scripts_in("schedules", dict.fromkeys(pools, store.question(which, id)), (id,) if id else ())
    return {
        pool: reply if isinstance(reply, BrokenPool) else store.answer(pool, reply) for pool, reply in replies.items()
    }


def schedule(id: str, pool: str = "", *, runs: int = 5) -> ScheduleDetail | None:
    """One schedule with its next runs and its history, the newest first; None if it does not exist.

    Raises BrokenPool or BrokerUnavailable when it is not found, and a pool could not be searched.
    """
    broker, reader = get_role(ScheduleCalls), open_reader()
    found = _asked(reader, pools_of(reader, pool), "one", id)
    answers = [answer for answer in found.values() if not isinstance(answer, BrokenPool)]
    states = [state for answer in answers for state in answer.rows]
    if not states:
        for broken in found.values():  # it may be in that pool
            if isinstance(broken, BrokenPool):
                raise broken
        reader.ensure_all()
        return None
    state = next((state for state in states if state.orphaned_ms is None), states[0])
    now_ms = max(answer.now_ms for answer in answers)
    return ScheduleDetail(
        **_facts(state, now_ms),
        **_more(state),
        note=note_on(state, in_code(), known_names()),
        runs=_runs(state, now_ms, runs),
        history=tuple(_history(state.pool, broker.schedule_log(state.pool, state.id))),
    )


def schedulable() -> list[str]:
    """The names of the tasks that this process can schedule."""
    return task_names()


def next_runs(line: str, zone: str, count: int = 5, after_ms: int | None = None) -> tuple[int, ...]:
    """The next ticks of a line in a zone, in ms, from now by the clock of Redis. Raises BadSchedule and BadZone."""
    timetable = read_timetable(line, zone)
    begin = open_reader().now_ms() if after_ms is None else after_ms
    return tuple(islice(timetable.ticks(begin), min(max(0, count), MOST_SHOWN)))


class Backfill(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a backfill: their number, and the first and the last of their times."""

    count: int
    first: tuple[int, ...]
    last: tuple[int, ...]  # without those of `first`


def backfill(line: str, zone: str, since_ms: int, until_ms: int, *, shown: int = 5) -> Backfill:
    """The ticks of a line in a past range. Raises BadOption, BadSchedule and BadZone."""
    ticks = backfill_ticks(line, zone, since_ms, until_ms, open_reader().now_ms())
    return Backfill(count=len(ticks), first=tuple(ticks[:shown]), last=tuple(ticks[shown:][-shown:]))


def preview(line: str, zone: str = "UTC", count: int = 5) -> list[datetime]:
    """The next ticks of a line as moments in its zone. Raises BadSchedule and BadZone."""
    return [datetime.fromtimestamp(tick / 1000, ZoneInfo(zone)) for tick in next_runs(line, zone, count)]


def _facts(state: ScheduleState, now_ms: int) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "id": state.id,
        "pool": state.pool,
        "condition": _condition(state, now_ms),
        "next_ms": state.due_ms,
        "last_ms": state.moment("lf"),
        "last_task": state.fields.get("lt", ""),
        "last_state": state.last_state,
        "fired": state.moment("fc") or 0,
        "skipped": state.moment("sk") or 0,
        "missed": state.moment("ms") or 0,
        "queued": state.queued,
        "paused_ms": state.paused_ms,
        "paused_by": state.fields.get("pw", ""),
        "removed_ms": state.orphaned_ms,
        "broken": state.broken,
    }
    if (definition := state.definition) is not None:
        names = ("line", "zone", "jitter_ms", "catch_up", "overlap", "source")
        push = definition.push
        facts |= {name: getattr(definition, name) for name in names} | {"task": push.name, "kind": push.kind}
        facts["words"] = in_words(definition.line)
        facts["args"] = redactor().call(push.args, parameters(push.kind, push.name)) if push.args else ""
    return facts


def _condition(state: ScheduleState, now_ms: int) -> str:
    if state.definition is None:
        return "broken"
    if state.orphaned_ms is not None:
        return "removed"
    if state.paused_ms is not None:
        return "paused"
    return "late" if state.due_ms is not None and now_ms - state.due_ms > LATE_MS else "active"


def _more(state: ScheduleState) -> dict[str, Any]:
    more: dict[str, Any] = {
        "version": state.version,
        "created_ms": state.moment("cr"),
        "edited_ms": state.moment("ed"),
        "edited_by": state.fields.get("by", ""),
    }
    if state.definition is None:
        return more
    push = state.definition.push
    shown = redactor().document(push.args, parameters(push.kind, push.name)) if push.args else "[[], {}]"
    return more | {"lane": push.lane, "priority": push.priority, "args_json": shown}


def _runs(state: ScheduleState, now_ms: int, count: int) -> tuple[int, ...]:
    if state.definition is None or state.orphaned_ms is not None:
        return ()
    return tuple(islice(state.definition.timetable().ticks(now_ms), min(count, MOST_SHOWN)))


class _Line(msgspec.Struct):
    """A line of the history as the script wrote it; its numbers are whole, but Lua writes them as floats."""

    t: float = 0
    w: str = "?"
    at: float | None = None
    id: str = ""
    n: float = 1
    who: str = ""


def _history(pool: str, lines: Sequence[bytes]) -> Iterator[ScheduleEvent]:
    known = [line for line in map(_read_line, reversed(lines)) if line is not None]
    tasks = [line.id for line in known if line.id]
    states = dict(zip(tasks, get_role(ScheduleCalls).states_of(pool, tasks), strict=True))
    for line in known:
        yield ScheduleEvent(
            t=int(line.t),
            word=line.w,
            tick_ms=None if line.at is None else int(line.at),
            task=line.id,
            state=states.get(line.id, ""),
            count=int(line.n),
            who=line.who,
        )


def _read_line(data: bytes) -> _Line | None:
    try:
        line = msgspec.json.decode(data, type=_Line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return line if all(abs(number) < LATEST_MS for number in (line.t, line.at or 0, line.n)) else None
