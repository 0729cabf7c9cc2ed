"""Alarms of jobs: machines whose jobs wait, because the disk of their storage is full."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from queueops.inspect.alarms import Alarm, danger, manage


def alarms(pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """The machines with a full disk, as workers of the pool have noted them."""
    for row in sampled.get("full_disks") or ():
        text = f"The disk of the storage on {row['host'][:100]} is {row['percent']:.0f} % full: its jobs wait."
        yield danger(text, "files", manage("jobs", "orphans", "--repair"))
