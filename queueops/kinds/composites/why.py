"""Diagnosis of composites: which parts a parent task waits for, and whether a part waits for its turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from queueops.inspect.why.findings import Finding, bad, good
from queueops.model.states import State
from queueops.redis.query_replies import Detail, whole


def parked(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding] | None:
    """What an idle parent task waits for, or a part that waits for its turn; None for other tasks."""
    is_own = record.get("k") in (None, "chain", "group", "iterator")
    if (state is State.IDLE and is_own) or (state is State.WAITING and record.get("pi")):
        return _waits(detail, record, state)
    return None


def ended(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """Nothing more than of any task."""
    return iter(())


def _waits(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    text, value, whole_id = _parts(detail, record, state)
    shown = value or record.get("y", "")
    if whole_id:
        yield bad(text, value=shown, target=whole_id, place="parts")  # most of them wait in good health
    else:
        yield bad(text, value=shown, verb="cancel", target=detail.id)
    if parent := record.get("pi"):
        yield good("The task is part of another task.", value=parent, target=parent)


def _parts(detail: Detail, record: Mapping[str, str], state: State) -> tuple[str, str, str]:
    """The text for a waiting parent task or stand-in, the value that was read, and the task whose parts show more."""
    if state is State.WAITING:
        return _turn(detail, record)
    if joined := record.get("hj"):
        return f"The part waits for the end of the task {joined}, which had its id before.", joined, joined
    kind = record.get("k")
    if kind == "iterator":
        ended, total = whole(record.get("pr")), whole(record.get("to"))
        return (
            f"The task waits for its parts: {ended:,} of {total:,} so far have ended.",
            f"{detail.open:,} open",
            detail.id,
        )
    if kind in ("chain", "group") and "cc" in record:
        total = whole(record["cc"])
        ended = max(0, total - detail.open)
        return f"The task waits for its parts: {ended:,} of {total:,} have ended.", f"{detail.open:,} open", detail.id
    return "The task waits for its parts.", "", ""


def _turn(detail: Detail, record: Mapping[str, str]) -> tuple[str, str, str]:
    """The finding for a part that waits for its turn in its parent task, or whose parent is gone."""
    if record.get("pp") or detail.parent_state:
        return (
            f"The part waits for its turn in {detail.parent_name or record['pi']}.",
            detail.parent_state,
            record["pi"],
        )
    return "The part waits for its turn, but its parent task does not exist any more.", record["pi"], ""
