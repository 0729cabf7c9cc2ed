"""One task name: rates, waits, runs, latest tasks and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from django.core.management.base import CommandError

from queueops import control, inspect
from queueops.errors import UnknownTask, advice
from queueops.inspect import NameKey, NamePause, NameRun, NameView, TaskQuery, lane_label
from queueops.inspect.spans import span
from queueops.management.queue import audit
from queueops.management.queue.formatting import moment, pairs, printable, shown_broken, table, to_json
from queueops.management.queue.lookup import told_others

RUNS_HEAD = ("BEGUN", "TOOK", "STATE", "POOL", "LANE", "ID")
ERRORS_HEAD = ("FINGERPRINT", "COUNT", "FAILED", "LAST", "ERROR")
MOST_RUNS = 20


def show(*, name: str, as_json: bool, **_: Any) -> Iterator[str]:
    """The figures of a name, its latest runs and its errors."""
    found = inspect.task_name(name)
    if found is None:
        known = {row.name for row in inspect.registry()} | {known for known, _ in inspect.facets(TaskQuery())["name"]}
        told = f"No task is named {printable(name)!r}{advice(name, sorted(known))}"
        raise CommandError(" ".join((told, *told_others(name))))
    if as_json:
        yield to_json(found)
        return
    yield from shown_broken(found.broken)
    yield pairs(_facts(found))
    if found.runs:
        yield "\n" + table(RUNS_HEAD, [_run(run, found.now_ms) for run in reversed(found.runs[-MOST_RUNS:])])
    if found.errors:
        rows = [(row.fingerprint, row.count, row.failed, moment(row.last_ms), row.short_title) for row in found.errors]
        yield "\n" + table(ERRORS_HEAD, rows)


def pause(*, name: str, pool: str, new: bool, as_json: bool) -> Iterator[str]:
    """Pause a name, in one pool or in all."""
    try:
        yield from _act("pause_name", "paused", partial(control.pause_name, new=new), name, pool, as_json)
    except UnknownTask as error:
        raise CommandError(f"{error}; with --new it is paused.") from error


def resume(*, name: str, pool: str, as_json: bool) -> Iterator[str]:
    """Resume a name, in one pool or in all."""
    return _act("resume_name", "running", control.resume_name, name, pool, as_json)


def _act(
    verb: str, word: str, call: Callable[[str, str], dict[str, bool]], name: str, pool: str, as_json: bool
) -> Iterator[str]:
    with audit.recorded(verb=verb, target="/".join(filter(None, (pool, name)))) as act:
        before = call(name, pool)
        was = {each for each, paused in before.items() if paused}
        act.before = {"name": name, "paused_in": sorted(was)}
        act.after = {"name": name, "paused_in": sorted(before) if verb == "pause_name" else []}
    if as_json:
        yield to_json({"name": name, "word": word, "before": before})
        return
    for each in before:
        state = "paused" if each in was else "running"
        yield f"The name {printable(name)} is {word} in the pool {printable(each)}; it was {state} before."


def _facts(found: NameView) -> Iterator[tuple[str, str]]:
    known = found.known
    yield "name", found.name
    yield "takes", known.signature if known else ""
    yield "about", known.about if known else ""
    yield "tasks", ", ".join(f"{count:,} {state}" for state, count in sorted(found.states.items())) or "none"
    yield "paused", "; ".join(_paused(pause, found.now_ms) for pause in found.paused)
    if found.oldest_ms is not None:
        yield "oldest", f"waits for {span(max(0, found.now_ms - found.oldest_ms))}"
    yield "rate", f"{found.in_rate:g}/s pushed, {found.out_rate:g}/s ended"
    yield "failed", f"{found.failure_rate * 100:.3g} % of {found.ended:,} attempts within the hour"
    yield "wait", _percentiles(found.wait_p50_ms, found.wait_p95_ms)
    yield "run", _percentiles(found.run_p50_ms, found.run_p95_ms)
    yield "lanes", ", ".join(f"{pool}/{_named(lane)}" for pool, lane, _ in found.lanes)
    waits = "; ".join(f"{each.key} ({_waits(each)}, {each.running:,} run)" for each in found.keys[:5])
    yield "keys", f"{found.all_keys:,} wait: {waits}" if waits else ""
    yield "schedules", ", ".join(row.id for row in inspect.schedules() if row.task == found.name)
    yield "workers", ", ".join(known.workers) if known and known.workers else "no live worker reports it"


def _waits(key: NameKey) -> str:
    if key.parts:
        return f"{key.parts:,} chunks of {key.waiting:,} tasks wait"
    return f"{key.waiting:,} wait"


def _paused(pause: NamePause, now_ms: int) -> str:
    return f"in {pause.pool} for {span(max(0, now_ms - pause.since_ms))}, {pause.held:,} tasks out of their lanes"


def _percentiles(middle: float | None, most: float | None) -> str:
    if middle is None or most is None:
        return "no run within the hour"
    return f"{span(middle)} (p50), {span(most)} (p95)"


def _run(run: NameRun, now_ms: int) -> tuple[object, ...]:
    return moment(run.begun_ms), span(run.took_ms(now_ms)), run.state, run.pool, _named(run.lane), run.id


def _named(lane: str) -> str:
    """A lane as other commands take it; behind the name of one with a digest, its label."""
    label = lane_label(lane)
    return lane if label == lane else f"{lane} ({label})"
