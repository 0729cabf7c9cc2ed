"""Worker processes: list, quiet, stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.core.management.base import CommandError

from queueops import control, inspect
from queueops.inspect import WorkerRow
from queueops.management.queue import audit
from queueops.management.queue.formatting import listing, moment, printable, to_json

HEAD = ("WORKER", "STATE", "POOLS", "LANES", "SLOTS", "BUSY", "MB", "VERSION", "STARTED", "BEAT")
CALLS: dict[str, Callable[[str], bool]] = {"quiet": control.quiet_worker, "stop": control.stop_worker}


def list_workers(*, as_json: bool, **_: Any) -> Iterator[str]:
    """Every worker process."""
    return listing(inspect.workers(), HEAD, _line, empty="There is no worker.", as_json=as_json)


def tell(*, subcommand: str, id: str, as_json: bool, **_: Any) -> Iterator[str]:
    """Quiet a worker, or stop it within its grace time."""
    was = next((row for row in inspect.workers() if row.id == id), None)
    if was is None:
        raise CommandError(f"There is no worker {printable(id)!r}; `queue workers` lists them.")
    with audit.recorded(verb=subcommand, target=id, before={"state": was.state}) as act:
        told = CALLS[subcommand](id)
        act.after, act.refused = {"told": subcommand}, "" if told else "it is gone"
    if not told:
        raise CommandError(f"The worker {id} has gone.")
    yield to_json({"id": id, "told": subcommand}) if as_json else f"The worker {printable(id)} was told: {subcommand}."


def _line(row: WorkerRow) -> tuple[object, ...]:
    times = moment(row.started_ms), moment(row.beat_ms)
    serves = ",".join(row.pools), ",".join(row.lanes) or "all"
    return row.id, row.state, *serves, row.slots, row.busy, round(row.rss / 2**20), row.version, *times
