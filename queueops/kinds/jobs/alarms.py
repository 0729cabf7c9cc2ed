"""Alarms of jobs: hosts without callbacks, machines whose jobs wait for a full disk, and files that stay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from queueops.inspect.alarm import Alarm, danger, manage, warning
from queueops.inspect.lane_labels import lane_label
from queueops.inspect.spans import span
from queueops.kinds.jobs.aggregations.lane_names import DESTINATION
from queueops.kinds.jobs.callbacks.callback_plans import CALLBACK
from queueops.model.sentences import say, say_n


def alarms(pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """The destinations whose circuit is open, and the machines with a full disk, as workers have noted them."""
    yield from _open_circuits(pool, sampled)
    for row in sampled.get("full_disks") or ():
        text = say(
            "The disk of the storage on %(host)s is %(percent)s %% full: its jobs wait.",
            host=row["host"][:100],
            percent=f"{row['percent']:.0f}",
        )
        yield danger(text, "files", manage("jobs", "orphans", "--repair"), key=f"disk {row['host'][:100]}")
    if row := sampled.get("failing_file"):
        path, tries = str(row["path"]), int(row["tries"])
        text = say(
            "Pool %(pool)s: the file %(path)s cannot be deleted (attempt %(attempt)s): %(error)s",
            pool=pool,
            path=path[:200],
            attempt=tries,
            error=str(row["error"]),
        )
        yield danger(
            text, "files", manage("jobs", "files", "--failed", "--pool", pool), key=f"file {pool}/{path[:200]}"
        )


def _open_circuits(pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    for row in sampled.get("circuits") or ():
        lane, count, waiting = str(row["lane"]), int(row["count"]), int(row["waiting"])
        if not waiting:
            continue
        host = lane_label(lane, str(row.get("title") or "")).removeprefix(DESTINATION)
        text = say_n(
            "An address of the host %(host)s has failed several times in a row: %(callbacks)s. The next is tried in"
            " %(time)s.",
            "%(n)s addresses of the host %(host)s have failed several times in a row: %(callbacks)s. The next is tried"
            " in %(time)s.",
            count,
            host=host[:100],
            callbacks=say_n("%(n)s callback waits", "%(n)s callbacks wait", waiting),
            time=span(max(0, int(row["till"]) - int(sampled["taken"]))),
        )
        command = manage("jobs", "close-circuit", host, "--pool", pool)
        yield warning(
            text,
            f"callbacks?to={quote(host)}",
            command,
            "close_circuit",
            f"{pool}/{lane}",
            key=f"circuit {lane}",
            followers=(f"failing {CALLBACK}",),
        )
