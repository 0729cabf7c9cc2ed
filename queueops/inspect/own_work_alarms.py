"""Alarms about the product's own work: its tasks that fail, and what a watchdog cannot do, each with its error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import structs

from queueops.inspect.alarm import CHECK, Alarm, danger, manage
from queueops.model.faults import SHOWN_MS, Faults
from queueops.model.redact import cut
from queueops.model.states import State

LONGEST = 500
"""Characters of an error."""


def own_work_alarms(pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """The newest of its tasks that fail, and the duties of a watchdog that fail."""
    for row in sampled.get("failing_work") or ():
        id, name = str(row["id"]), str(row["name"])
        ends = "has failed" if row["state"] == State.FAILED else "fails, and is tried again"
        error = cut(str(row["error"]), LONGEST) or "its error cannot be read"
        text = f"Pool {pool}: the task {name} {id} of QueueOps {ends}: {error}"
        alarm = danger(text, f"why?id={quote(id)}&pool={quote(pool)}", manage("queue", "show", id, "--pool", pool))
        yield structs.replace(alarm, key=f"own {name} {id} {pool}")
    found = _faults(sampled)
    if found is not None and sampled["taken"] - found.at <= SHOWN_MS:
        for doing, error in found.errors.items():
            alarm = danger(f"The watchdog cannot {doing} pool {pool}: {error}", "health", manage(*CHECK))
            yield structs.replace(alarm, key=f"duty {doing} {pool}")


def _faults(sampled: Mapping[str, Any]) -> Faults | None:
    try:
        return msgspec.json.decode(str(sampled.get("fault") or ""), type=Faults)
    except msgspec.MsgspecError:
        return None
