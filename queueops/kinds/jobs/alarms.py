"""Alarms of jobs: hosts without callbacks, machines whose jobs wait for a full disk, and files that stay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from queueops.inspect.alarm import Alarm, danger, manage, warning
from queueops.inspect.lane_labels import lane_label
from queueops.inspect.spans import span
from queueops.kinds.jobs.aggregations.lane_names import DESTINATION


def alarms(pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """The destinations whose circuit is open, and the machines with a full disk, as workers have noted them."""
    yield from _open_circuits(pool, sampled)
    for row in sampled.get("full_disks") or ():
        text = f"The disk of the storage on {row['host'][:100]} is {row['percent']:.0f} % full: its jobs wait."
        yield danger(text, "files", manage("jobs", "orphans", "--repair"), key=f"disk {row['host'][:100]}")
    if row := sampled.get("failing_file"):
        path, tries = str(row["path"]), int(row["tries"])
        text = f"Pool {pool}: the file {path[:200]} cannot be deleted (attempt {tries:,}): {row['error']}"
        yield danger(
            text, "files", manage("jobs", "files", "--failed", "--pool", pool), key=f"file {pool}/{path[:200]}"
        )


def _open_circuits(pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    for row in sampled.get("circuits") or ():
        lane, count, waiting = str(row["lane"]), int(row["count"]), int(row["waiting"])
        if not waiting:
            continue
        host = lane_label(lane, str(row.get("title") or "")).removeprefix(DESTINATION)
        left = span(max(0, int(row["till"]) - int(sampled["taken"])))
        who = "An address" if count == 1 else f"{count:,} addresses"
        has, told = (
            "has" if count == 1 else "have",
            "1 callback waits" if waiting == 1 else f"{waiting:,} callbacks wait",
        )
        text = (
            f"{who} of the host {host[:100]} {has} failed several times in a row: {told}. The next is tried in {left}."
        )
        command = manage("jobs", "close-circuit", host, "--pool", pool)
        yield warning(
            text, f"callbacks?to={quote(host)}", command, "close_circuit", f"{pool}/{lane}", key=f"circuit {lane}"
        )
