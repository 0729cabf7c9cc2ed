"""Worker processes: list, quiet, stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.core.management.base import CommandError

from queueops import control, inspect
from queueops.inspect import WorkerRow
from queueops.management.queue import audit
from queueops.management.queue.formatting import moment, printable, table, to_json
from queueops.management.queue.task_view import shown_broken

HEAD = ("WORKER", "STATE", "POOLS", "SLOTS", "BUSY", "MB", "VERSION", "STARTED", "BEAT")


def list_workers(*, as_json: bool, **_: Any) -> Iterator[str]:
    """Every worker process."""
    rows = inspect.workers()
    yield from shown_broken(rows.broken, aside=as_json)
    yield to_json(rows) if as_json else table(HEAD, map(_line, rows)) if rows else "There is no worker."


def quiet(*, id: str, as_json: bool, **_: Any) -> Iterator[str]:
    """Quiet a worker: its tasks run to their end, and it takes no new ones."""
    return _tell("quiet", id, control.quiet_worker, as_json)


def stop(*, id: str, as_json: bool, **_: Any) -> Iterator[str]:
    """Stop a worker, within its grace time."""
    return _tell("stop", id, control.stop_worker, as_json)


def _tell(verb: str, id: str, call: Callable[[str], bool], as_json: bool) -> Iterator[str]:
    was = next((row for row in inspect.workers() if row.id == id), None)
    if was is None:
        raise CommandError(f"There is no worker {printable(id)!r}; `queue workers` lists them.")
    with audit.recorded(verb=verb, target=id, before={"state": was.state}) as act:
        told = call(id)
        act.after, act.refused = {"told": verb}, "" if told else "it is gone"
    if not told:
        raise CommandError(f"The worker {id} has gone.")
    yield to_json({"id": id, "told": verb}) if as_json else f"The worker {printable(id)} was told: {verb}."


def _line(row: WorkerRow) -> tuple[object, ...]:
    times = moment(row.started_ms), moment(row.beat_ms)
    return row.id, row.state, ",".join(row.pools), row.slots, row.busy, round(row.rss / 2**20), row.version, *times
