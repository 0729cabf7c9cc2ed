"""Diagnosis of composites: what a chain, group or iterator waits for, and what a part waits for."""

from __future__ import annotations

from collections.abc import Mapping

from queueops.model.states import State
from queueops.redis.query_replies import Detail, whole

_WAITING = "It waits for a task before it to end."
_IDLE = "It waits for the tasks that it has started, or for an event."


def parts_finding(detail: Detail, record: Mapping[str, str], state: State) -> tuple[str, str, str]:
    """The text for a waiting parent task, the value that was read, and the task whose parts show more."""
    if state is State.WAITING:
        return _turn(detail, record)
    kind = record.get("k")
    if kind == "iterator":
        ended, total = whole(record.get("pr")), whole(record.get("to"))
        return (
            f"It waits for its parts: {ended:,} of {total:,} so far have ended.",
            f"{detail.open:,} under way",
            detail.id,
        )
    if kind in ("chain", "group") and "cc" in record:
        total = whole(record["cc"])
        ended = max(0, total - detail.open)
        return f"It waits for its parts: {ended:,} of {total:,} have ended.", f"{detail.open:,} open", detail.id
    return _IDLE, "", ""


def _turn(detail: Detail, record: Mapping[str, str]) -> tuple[str, str, str]:
    """The finding for a part that waits for its turn in its parent task, or whose parent is gone."""
    if not record.get("pi"):
        return _WAITING, "", ""
    if record.get("pp") or detail.parent_state:
        return f"It waits for its turn in {detail.parent_name or record['pi']}.", detail.parent_state, record["pi"]
    return "It waits for its turn, and the task that it is part of is gone.", record["pi"], ""
