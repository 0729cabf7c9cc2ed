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
from queueops.model.sentences import say
from queueops.model.states import State
from queueops.model.stored_sentences import Stored

LONGEST = 500
"""Characters of an error."""


def own_work_alarms(pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """The newest of its tasks that fail, and the duties of a watchdog that fail."""
    for row in sampled.get("failing_work") or ():
        id, name = str(row["id"]), str(row["name"])
        values = {"pool": pool, "name": name, "id": id}
        error: str = Stored(cut(str(row["error"]), LONGEST)) or say("its error cannot be read")
        text = say("Pool %(pool)s: the task %(name)s %(id)s of QueueOps has failed: %(error)s", error=error, **values)
        if row["state"] != State.FAILED:
            text = say(
                "Pool %(pool)s: the task %(name)s %(id)s of QueueOps fails, and is tried again: %(error)s",
                error=error,
                **values,
            )
        alarm = danger(text, f"why?id={quote(id)}&pool={quote(pool)}", manage("queue", "show", id, "--pool", pool))
        yield structs.replace(alarm, key=f"own {name} {id} {pool}")
    found = _faults(sampled)
    if found is not None and sampled["taken"] - found.at <= SHOWN_MS:
        for doing, error in found.errors.items():
            text = say("The watchdog cannot %(duty)s pool %(pool)s: %(error)s", duty=doing, pool=pool, error=error)
            alarm = danger(text, "health", manage(*CHECK))
            yield structs.replace(alarm, key=f"duty {doing} {pool}")


def _faults(sampled: Mapping[str, Any]) -> Faults | None:
    try:
        return msgspec.json.decode(str(sampled.get("fault") or ""), type=Faults)
    except msgspec.MsgspecError:
        return None
