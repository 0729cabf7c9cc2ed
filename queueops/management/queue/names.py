"""One task name: rates, waits, runs, latest tasks and errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from queueops import inspect
from queueops.errors import advice
from queueops.inspect import NameRun, NameView, TaskQuery
from queueops.inspect.spans import span
from queueops.management.queue.formatting import moment, pairs, printable, shown_broken, table, to_json

RUNS_HEAD = ("BEGUN", "TOOK", "STATE", "POOL", "LANE", "ID")
ERRORS_HEAD = ("FINGERPRINT", "COUNT", "FAILED", "LAST", "ERROR")
MOST_RUNS = 20


def show(*, name: str, as_json: bool, **_: Any) -> Iterator[str]:
    """The figures of a name, its latest runs and its errors."""
    found = inspect.task_name(name)
    if found is None:
        known = {row.name for row in inspect.registry()} | {known for known, _ in inspect.facets(TaskQuery())["name"]}
        raise CommandError(f"No task is named {printable(name)!r}{advice(name, sorted(known))}")
    if as_json:
        yield to_json(found)
        return
    yield from shown_broken(found.broken)
    yield pairs(_facts(found))
    if found.runs:
        yield "\n" + table(RUNS_HEAD, [_run(run, found.now_ms) for run in reversed(found.runs[-MOST_RUNS:])])
    if found.errors:
        rows = [
            (row.fingerprint, row.count, row.failed, moment(row.last_ms), f"{row.type}: {row.message}")
            for row in found.errors
        ]
        yield "\n" + table(ERRORS_HEAD, rows)


def _facts(found: NameView) -> Iterator[tuple[str, str]]:
    known, schedules = found.known, [row.id for row in inspect.schedules() if row.task == found.name]
    yield "name", found.name
    yield "takes", known.signature if known else ""
    yield "about", known.about if known else ""
    yield "tasks", ", ".join(f"{count:,} {state}" for state, count in sorted(found.states.items())) or "none"
    if found.oldest_ms is not None:
        yield "oldest", f"waits for {span(max(0, found.now_ms - found.oldest_ms))}"
    yield "rate", f"{found.in_rate:g}/s pushed, {found.out_rate:g}/s ended"
    yield "failed", f"{found.failure_rate * 100:.3g} % of {found.ended:,} attempts within the hour"
    yield "wait", _percentiles(found.wait_p50_ms, found.wait_p95_ms)
    yield "run", _percentiles(found.run_p50_ms, found.run_p95_ms)
    yield "lanes", ", ".join(f"{pool}/{lane}" for pool, lane, _ in found.lanes)
    yield "schedules", ", ".join(schedules)
    yield "workers", ", ".join(known.workers) if known and known.workers else "no live worker reports it"


def _percentiles(middle: float | None, most: float | None) -> str:
    if middle is None or most is None:
        return "no run within the hour"
    return f"{span(middle)} (p50), {span(most)} (p95)"


def _run(run: NameRun, now_ms: int) -> tuple[object, ...]:
    return moment(run.begun_ms), span(run.took_ms(now_ms)), run.state, run.pool, run.lane, run.id
