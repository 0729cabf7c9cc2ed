"""Worker processes: list, quiet, stop, stacks of their threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from django.core.management.base import CommandError

from queueops import control, inspect
from queueops.inspect import WorkerRow
from queueops.management.queue import audit
from queueops.management.queue.formatting import listing, moment, printable, to_json
from queueops.management.queue.lookup import told_others

HEAD = ("WORKER", "STATE", "POOLS", "LANES", "KINDS", "SLOTS", "BUSY", "MB", "VERSION", "STARTED", "BEAT")
CALLS: dict[str, Callable[[str], bool]] = {"quiet": control.quiet_worker, "stop": control.stop_worker}


def list_workers(*, as_json: bool, **_: Any) -> Iterator[str]:
    """Every worker process."""
    return listing(inspect.workers(), HEAD, _line, empty="There is no worker.", as_json=as_json)


def tell(*, subcommand: str, id: str, as_json: bool, **_: Any) -> Iterator[str]:
    """Quiet a worker, or stop it within its grace time."""
    was = next((row for row in inspect.workers() if row.id == id), None)
    if was is None:
        raise _missing(id)
    with audit.recorded(verb=subcommand, target=id, before={"state": was.state}) as act:
        told = CALLS[subcommand](id)
        act.after, act.refused = {"told": subcommand}, "" if told else "it is gone"
    if not told:
        raise CommandError(f"The worker {id} has gone.")
    yield to_json({"id": id, "told": subcommand}) if as_json else f"The worker {printable(id)} was told: {subcommand}."


def stacks(*, id: str, timeout: float, as_json: bool, **_: Any) -> Iterator[str]:
    """Ask a worker for the stacks of its threads, and wait for them."""
    was = inspect.worker(id)
    if was is None:
        raise _missing(id)
    with audit.recorded(verb="stacks", target=id, before={"state": was.row.state}) as act:
        told = control.dump_stacks(id)
        act.after, act.refused = {"told": "stacks"}, "" if told else "it is gone"
    end = time.monotonic() + timeout
    while (found := inspect.worker(id)) is not None:
        if found.stacks is not None and found.stacks.asked_ms is None:
            yield to_json(found.stacks) if as_json else printable(found.stacks.text, lines=True)
            return
        if time.monotonic() > end:
            raise CommandError(f"The worker {printable(id)} did not answer within {timeout:g} s.")
        time.sleep(0.1)
    raise CommandError(f"The worker {printable(id)} has gone.")


def _missing(id: str) -> CommandError:
    listed = f"There is no worker {printable(id)!r}; `queue workers` lists them."
    return CommandError(" ".join((listed, *told_others(id))))


def _line(row: WorkerRow) -> tuple[object, ...]:
    times = moment(row.started_ms), moment(row.beat_ms)
    serves = ",".join(row.pools), ",".join(row.lanes) or "all", ",".join(row.kinds) or "all"
    return row.id, row.state, *serves, row.slots, row.busy, round(row.rss / 2**20), row.version, *times
