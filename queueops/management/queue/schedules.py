"""Schedules in a terminal: list, show, pause, resume, run and delete."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management import CommandError

from queueops import control, inspect
from queueops.inspect import ScheduleDetail, ScheduleEvent, ScheduleRow
from queueops.management.queue import audit
from queueops.management.queue.actions import confirm
from queueops.management.queue.formatting import counted, listing, moment, pairs, printable, to_json
from queueops.management.queue.kind_commands import KindCommand
from queueops.management.queue.lookup import missing
from queueops.schedules.backfill import read_time

HEAD = ("SCHEDULE", "TASK", "WHEN", "IN WORDS", "ZONE", "NEXT", "CONDITION", "LAST RUN", "STATE", "POOL")
VERBS = ("show", "pause", "resume", "run", "backfill", "delete")
DONE = {"pause": "paused", "resume": "resumed", "run": "run", "delete": "deleted"}
BOUND = ("since", "until")


def list_schedules(*, pool: str, as_json: bool, **_: Any) -> Iterator[str]:
    """All schedules, by their next run."""
    return listing(inspect.schedules(pool), HEAD, _line, empty="There is no schedule.", as_json=as_json)


def act(*, id: str, verb: str, pool: str, as_json: bool, **given: Any) -> Iterator[str]:
    """Show a schedule, or act on it. Fails if nothing was changed."""
    found = inspect.schedule(id, pool)
    if found is None:
        raise missing("schedule", id, pool)
    if verb == "show":
        yield to_json(found) if as_json else _shown(found)
        return
    if verb == "backfill":
        yield from _backfill(found, as_json=as_json, **given)
        return
    if verb == "delete" and not given["yes"]:
        confirm(f"Delete the schedule {printable(id)} with its history?")
    before = {"id": id, "pool": found.pool, "task": found.task, "line": found.line, "condition": found.condition}
    with audit.recorded(verb=f"{verb}_schedule", target=f"{found.pool}/{id}", before=before) as act:
        answer = getattr(control, f"{verb}_schedule")(id, pool=found.pool, who=act.who)
        act.refused = "" if answer else f"it was {DONE[verb]} already"
        act.after = {"condition": DONE[verb]} if answer and not _task(answer) else {"ran": _task(answer)}
    if as_json:
        yield to_json(
            {"id": id, "pool": found.pool, "word": DONE[verb] if answer else "unchanged", "task": _task(answer)}
        )
    elif answer:
        yield f"The schedule {printable(id)} is {DONE[verb]}{f' as the task {answer}' if _task(answer) else ''}."
    else:
        yield f"The schedule {printable(id)} was {DONE[verb]} already."
    if not answer:
        raise SystemExit(1)


def _backfill(found: ScheduleDetail, *, as_json: bool, yes: bool, since: str, until: str, **_: Any) -> Iterator[str]:
    """Show the runs of a range, ask, and create them."""
    times = [read_time(text, found.zone, name) for name, text in zip(BOUND, (since, until), strict=True)]
    plan = inspect.backfill(found.line, found.zone, *times)
    shown = ", ".join(map(moment, plan.first)) + (f", ... {', '.join(map(moment, plan.last))}" if plan.last else "")
    if not plan.count:
        raise CommandError("No tick is in this range.")
    if not yes:
        confirm(f"Create {counted(plan.count, 'run', 'runs')} of {printable(found.id)}: {shown}?")
    before = {"id": found.id, "pool": found.pool, "task": found.task, "line": found.line, "condition": found.condition}
    with audit.recorded(verb="backfill_schedule", target=f"{found.pool}/{found.id}", before=before) as act:
        made = control.backfill_schedule(found.id, *times, pool=found.pool, who=act.who)
        act.after = {"since": since, "until": until, "created": made.created, "existed": made.existed}
        act.refused = "" if made.created else "all runs exist already"
    if as_json:
        yield to_json({"id": found.id, "pool": found.pool, "created": made.created, "existed": made.existed})
    else:
        created = counted(made.created, f"run of {printable(found.id)} was", f"runs of {printable(found.id)} were")
        yield f"{created} created; {made.existed:,} existed already."


def _task(answer: bool | str) -> str:
    return answer if isinstance(answer, str) else ""


def _line(row: ScheduleRow) -> tuple[object, ...]:
    when, last = row.line or row.broken, moment(row.last_ms)
    return (
        row.id,
        row.task,
        when,
        row.words,
        row.zone,
        moment(row.next_ms),
        row.condition,
        last,
        row.last_state,
        row.pool,
    )


def _shown(row: ScheduleDetail) -> str:
    facts = pairs(
        (
            ("schedule", row.id),
            ("condition", row.broken or row.condition),
            ("note", row.note),
            ("task", f"{row.task} ({row.kind})"),
            ("pool, lane", f"{row.pool}, {row.lane}"),
            ("when", f"{row.line}, in {row.zone}"),
            ("in words", row.words if row.words != row.line else ""),
            ("jitter", f"up to {row.jitter_ms / 1000:g} s" if row.jitter_ms else ""),
            ("missed ticks", row.catch_up),
            ("overlapping", f"{row.overlap}{f', {row.queued} queued' if row.queued else ''}"),
            ("defined by", row.source),
            ("paused", f"{moment(row.paused_ms)} by {row.paused_by or '?'}" if row.paused_ms else ""),
            ("counts", f"{row.fired:,} fired, {row.skipped:,} skipped, {row.missed:,} missed"),
            ("next", ", ".join(map(moment, row.runs))),
        )
    )
    lines = "\n".join(map(_event, row.history[:20]))
    return f"{facts}\n\n{lines}" if lines else facts


def _event(event: ScheduleEvent) -> str:
    many = f" {event.count} times" if event.count > 1 else ""
    task = f"  {printable(event.task)} ({event.state or 'gone'})" if event.task else ""
    return f"{moment(event.tick_ms or event.t)}  {printable(event.word.lower())}{many}{task}"


def _list_options(parser: ArgumentParser) -> None:
    parser.add_argument("--pool", default="", help="only this pool (default: all pools)")


def _act_options(parser: ArgumentParser) -> None:
    _list_options(parser)
    parser.add_argument("id", help="the schedule")
    parser.add_argument("verb", nargs="?", choices=VERBS, default="show", help="what to do (show)")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    for name in BOUND:
        text = f"backfill: {name} this time, such as 2026-11-27T03:00, by default in the schedule's zone"
        parser.add_argument(f"--{name}", default="", help=text)


COMMANDS = (
    KindCommand(
        name="schedules",
        run=list_schedules,
        text="all schedules, and when each fires next",
        add_options=_list_options,
    ),
    KindCommand(
        name="schedule",
        run=act,
        text="show, pause, resume, run, backfill or delete a schedule",
        add_options=_act_options,
    ),
)
