"""Checks of a task that waits for its chunks, its parts or its turn, or that is in quarantine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from queueops.inspect.why.findings import Finding, bad, good
from queueops.inspect.why.waiting import servers
from queueops.model import kinds
from queueops.model.states import State
from queueops.redis.query_replies import Detail, whole

_WAITING = "The task waits for the end of an earlier task."
_IDLE = "The task waits for its parts."


def parked_findings(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """What the task waits for."""
    if state is State.QUARANTINED:
        verb = "requeue" if b"s" in detail.record and b"n" in detail.record else "discard"
        reason = record.get("y") or "its record cannot be read"
        yield bad(
            "The task is quarantined, so that it blocks no other task.", value=reason, verb=verb, target=detail.id
        )
        return
    for kind in kinds.roles("why"):
        if (findings := kind.parked(detail, record, state)) is not None:
            yield from findings
            yield from servers(detail)
            return
    text, value, whole_id = _parts(detail, record, state)
    shown = value or record.get("y", "")
    if whole_id:
        yield bad(text, value=shown, target=whole_id, place="parts")  # most of them wait in good health
    else:
        yield bad(text, value=shown, verb="cancel", target=detail.id)
    if parent := record.get("pi"):
        yield good("The task is part of another task.", value=parent, target=parent)


def _parts(detail: Detail, record: Mapping[str, str], state: State) -> tuple[str, str, str]:
    """The text for a waiting parent task, the value that was read, and the task whose parts show more."""
    if state is State.WAITING:
        return _turn(detail, record)
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
    return _IDLE, "", ""


def _turn(detail: Detail, record: Mapping[str, str]) -> tuple[str, str, str]:
    """The finding for a part that waits for its turn in its parent task, or whose parent is gone."""
    if not record.get("pi"):
        return _WAITING, "", ""
    if record.get("pp") or detail.parent_state:
        return (
            f"The part waits for its turn in {detail.parent_name or record['pi']}.",
            detail.parent_state,
            record["pi"],
        )
    return "The part waits for its turn, but its parent task does not exist any more.", record["pi"], ""
